import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Permits } from '@millwright/link-sdk/network/permits.ts'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import { parseMessageHeader } from './message-header.ts'
import { type AgentOptions, type AgentRequest, pduTypes } from './simulator.ts'
import { element, elementsOf, inside, integer, octets, oid, tag } from './simulator-ber.ts'
import { SimulatedEngine } from './simulator-security.ts'
import { switchValues } from './simulator-switch.ts'
import { credential, impatient, type ScanOptions, scan, startAgents, target } from './testing.ts'

const values = switchValues({
  name: 'switch',
  mac: '00:1B:1B:30:00:00',
  ports: 12,
  serial: 'VPL1',
  neighbours: [{ port: 1, chassis: '00:1B:1B:40:00:00' }],
})

const agent = (answers: NonNullable<AgentOptions['answers']>): AgentOptions => ({
  community: 'public',
  values,
  answers,
})

async function read(network: number, options: AgentOptions, scanOptions: ScanOptions = {}) {
  await using plant = await startAgents(network, [options])
  const results = await Array.fromAsync(scan(plant.range, plant.port, scanOptions))
  return { assets: assetsIn(results), errors: errorsIn(results) }
}

/** Returns an answer of version 2c with an error status. */
function errorAnswer({ bytes }: AgentRequest, status: number): Buffer {
  const [version, community, pdu] = inside(elementsOf(bytes)[0], tag.sequence)
  const [id] = elementsOf(pdu?.content ?? Buffer.alloc(0))
  const rebuilt = [version, community].map((one) => element(one?.tag ?? 0, one?.content ?? Buffer.alloc(0)))
  const idElement = element(tag.integer, id?.content ?? Buffer.alloc(0))
  const answer = element(pduTypes.response, idElement, integer(status), integer(0), element(tag.sequence))
  return element(tag.sequence, ...rebuilt, answer)
}

describe('an agent that violates the protocol is reported as faulty', () => {
  const faulty = async (network: number, answers: NonNullable<AgentOptions['answers']>) => {
    const { assets, errors } = await read(network, agent(answers), { options: impatient })
    assert.deepEqual(assets, [])
    assert.equal(errors[0]?.code, 'DATA_LOSS')
    return errors[0].message
  }

  test('when its answers are not SNMP messages', async () => {
    const message = await faulty(30, () => [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')])
    assert.match(message, /127\.0\.30\.1 sends answers that are not valid SNMP messages/)
  })

  test('when its answers are truncated', async () => {
    await faulty(31, (answer) => [answer.subarray(0, answer.length / 2)])
  })

  test('when the rows of a table do not increase', async () => {
    const [second, first] = [oid('1.3.6.1.2.1.2.2.1.2.3'), oid('1.3.6.1.2.1.2.2.1.2.1')]
    const message = await faulty(32, (answer) => {
      const at = answer.indexOf(second)
      if (at >= 0) first.copy(answer, at)
      return [answer]
    })
    assert.match(message, /rows of a table in the wrong order/)
  })

  test('when it sends many answers to one request', async () => {
    const message = await faulty(33, (answer) => Array.from({ length: 200 }, () => answer))
    assert.match(message, /answers without requests/)
  })

  test('when it answers to another number of values than requested', async () => {
    const message = await faulty(34, (_answer, request) => [errorAnswer(request, 0)])
    assert.match(message, /do not fit the requests/)
  })
})

describe('limits', () => {
  test('a table with too many rows is reported', async () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => [
      `1.3.6.1.2.1.2.2.1.2.${index + 1}`,
      { type: 'integer' as const, value: 1 },
    ])
    const { errors } = await read(35, { community: 'public', values: { ...values, ...Object.fromEntries(rows) } })
    assert.equal(errors[0]?.code, 'OUT_OF_RANGE')
    assert.match(errors[0].message, /more than 4096 rows/)
  })

  test('a bridge table with too many rows is left out, and the device is reported', async () => {
    const learned = Array.from({ length: 4_200 }, (_, index) => ({
      port: 2,
      mac: `00:0E:8C:01:${hex(index >> 8)}:${hex(index & 255)}`,
    }))
    const large = switchValues({ name: 'switch', mac: '00:1B:1B:30:00:00', ports: 2, learned })
    const { assets, errors } = await read(36, { community: 'public', values: large })
    assert.equal(errors[0]?.code, 'OUT_OF_RANGE')
    assert.match(errors[0].message, /cables of the device at 127\.0\.36\.1 are not complete: .* more than 4096 rows/)
    assert.deepEqual(assets[0]?.asset_relations, [])
  })

  test('a device that cannot be read in time is reported', async () => {
    const { errors } = await read(
      37,
      agent((answer, { pduType }) => (pduType === pduTypes.getBulk ? [] : [answer])),
      { options: { timeout_ms: 30_000, device_seconds: 1 } },
    )
    assert.equal(errors[0]?.code, 'OUT_OF_RANGE')
    assert.match(errors[0].message, /could not be read within 1 seconds/)
  })

  test('the time in which requests wait for permits does not count', async () => {
    const permits: Permits = {
      take: async () => {
        await setTimeout(200)
        return { [Symbol.dispose]: () => undefined }
      },
    }
    const options = { timeout_ms: 30_000, device_seconds: 1 }
    const { assets, errors } = await read(48, { community: 'public', values }, { permits, options })
    assert.deepEqual(errors, [])
    assert.equal(assets[0]?.name, 'switch')
  })

  test('a device that stops answering is reported as UNAVAILABLE', async () => {
    const { errors } = await read(
      38,
      agent((answer, { pduType }) => (pduType === pduTypes.getBulk ? [] : [answer])),
      { options: impatient },
    )
    assert.equal(errors[0]?.code, 'UNAVAILABLE')
  })

  test('a device that does not answer to requests for neighbours is reported without them', async () => {
    const lldp = Buffer.from('28c462', 'hex')
    const { assets, errors } = await read(
      39,
      agent((answer, { bytes }) => (bytes.includes(lldp) ? [] : [answer])),
      { options: impatient },
    )
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['UNAVAILABLE'],
    )
    assert.match(errors[0]?.message ?? '', /are not complete: .* the device does not answer\./)
    assert.equal(assets[0]?.name, 'switch')
    assert.deepEqual(assets[0].asset_relations, [])
  })

  test('a device that refuses a table with an error is reported without it', async () => {
    const interfaces = oid('1.3.6.1.2.1.2.2.1.2')
    const { assets, errors } = await read(
      47,
      agent((answer, request) => [request.bytes.includes(interfaces) ? errorAnswer(request, 5) : answer]),
    )
    assert.deepEqual(errors, [])
    assert.equal(assets[0]?.name, 'switch')
    assert.doesNotMatch(JSON.stringify(assets[0].connection_points), /port1/)
  })

  test('smaller answers are requested from an agent that reports tooBig', async () => {
    const { assets, errors } = await read(
      40,
      agent((answer, request) => [answer.length > 500 ? errorAnswer(request, 1) : answer]),
    )
    assert.deepEqual(errors, [])
    const { connection_points: points = [] } = assets[0] ?? {}
    assert.equal(Array.isArray(points) && points.length, 14)
  })
})

describe('answers of other senders', () => {
  test('with another address or port are discarded', async () => {
    const other = createSocket('udp4').bind(0, '127.0.0.1')
    await once(other, 'listening')
    const { assets, errors } = await read(
      41,
      agent((answer, { sender }) => {
        other.send(answer, sender.port, sender.address)
        return []
      }),
      { options: impatient },
    )
    other.close()
    assert.deepEqual([...assets, ...errors], [])
  })

  const user = { name: 'mill', authProtocol: 'sha', authPassword: 'auth-secret', privPassword: 'priv-secret' } as const
  const fields = { version: '3', user: 'mill', authPassword: 'auth-secret', privPassword: 'priv-secret' }
  const targets = [target({ credentials: [credential(fields)] })]

  test('without authentication are discarded with version 3', async () => {
    const name = element(tag.sequence, oid('1.3.6.1.2.1.1.5.0'), octets('forged'))
    const varbinds = element(tag.sequence, ...Array.from({ length: 6 }, () => name))
    const pdu = element(pduTypes.response, integer(1), integer(0), integer(0), varbinds)
    const forged = new SimulatedEngine(user, Buffer.from('800000000300163e000001', 'hex'))
    let isForged = false
    const answers = (answer: Buffer, { bytes, pduType }: AgentRequest) => {
      if (pduType !== pduTypes.getNext) return [answer]
      isForged = true
      return [forged.write(parseMessageHeader(bytes)?.messageId ?? 0, pdu, { isSecure: false })]
    }
    const { assets, errors } = await read(42, { user, values, answers }, { targets, options: impatient })
    assert.ok(isForged)
    assert.deepEqual(assets, [])
    assert.equal(errors[0]?.code, 'UNAUTHENTICATED')
  })

  test('that reject every time end the request with version 3', async () => {
    const answers = (_answer: Buffer, { bytes }: AgentRequest) => [
      timeReport(parseMessageHeader(bytes)?.messageId ?? 0),
    ]
    const { errors } = await read(43, { user, values, answers }, { targets })
    assert.equal(errors[0]?.code, 'DATA_LOSS')
    assert.match(errors[0].message, /rejects the time of every request/)
  })

  /** Returns a report with the time 0, after which the client sends the request again. */
  function timeReport(messageId: number): Buffer {
    const varbind = element(tag.sequence, oid('1.3.6.1.6.3.15.1.1.2.0'), integer(1, tag.counter))
    const pdu = element(pduTypes.report, integer(0), integer(0), integer(0), element(tag.sequence, varbind))
    const globals = [integer(messageId), integer(65_507), octets(Buffer.from([0])), integer(3)]
    const security = [octets('engine'), integer(0), integer(0), octets(''), octets(''), octets('')]
    return element(
      tag.sequence,
      integer(3),
      element(tag.sequence, ...globals),
      octets(element(tag.sequence, ...security)),
      element(tag.sequence, octets('engine'), octets(''), pdu),
    )
  }
})

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0').toUpperCase()
}
