import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import fc from 'fast-check'
import { type ChangeAnswer, type RunningSimulator, startSimulator } from './simulator.ts'
import { controller, impatient, resultsOf, scanDevice } from './testing.ts'

/** Returns whether a datagram is the answer to a request, and not I-Am. */
const isAnswer = (answer: Buffer) => answer[6] === 0x30
const scanChanged = (change: ChangeAnswer, options = {}) =>
  scanDevice(controller, { change, options: { ...impatient, ...options } })

describe('a hostile device', () => {
  test('that does not answer with BACnet is reported as faulty', async () => {
    const { assets, errors } = await scanChanged(() => [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')])
    assert.deepEqual(assets, [])
    assert.equal(errors[0]?.code, 'DATA_LOSS')
    assert.match(errors[0].message, /127\.0\.60\.1 port \d+ does not speak BACnet correctly: its message has no/)
  })

  test('with truncated answers is reported with its MAC address and the error', async () => {
    const { assets, errors } = await scanChanged((answer) => [isAnswer(answer) ? answer.subarray(0, 30) : answer])
    assert.equal(assets[0]?.name, 'BACnet device 1234')
    assert.equal(errors[0]?.code, 'DATA_LOSS')
    assert.match(errors[0].message, /the length of its message is wrong/)
  })

  test('that answers for another device or with another property is reported as faulty', async () => {
    const otherDevice = await scanChanged((answer) => {
      if (isAnswer(answer) && answer[8] === 14) answer[13] = (answer[13] ?? 0) ^ 1
      return answer[8] === 12 ? [] : [answer]
    })
    assert.equal(otherDevice.errors.length, 1)
    const otherProperty = await scanDevice(
      { ...controller, multiple: false },
      {
        change: (answer) => {
          if (isAnswer(answer)) answer[15] = 1
          return [answer]
        },
      },
    )
    assert.match(otherProperty.errors[0]?.message ?? '', /another property than requested/)
  })

  test('that answers in segments is read with single properties, and refused clearly if these have segments too', async () => {
    const segmented = (answer: Buffer) => {
      answer[6] = 0x3c
      return answer
    }
    const multiple = await scanChanged((answer) => [isAnswer(answer) && answer[8] === 14 ? segmented(answer) : answer])
    assert.deepEqual(multiple.errors, [])
    assert.equal(multiple.assets[0]?.name, 'AHU 3')
    const every = await scanChanged((answer) => [isAnswer(answer) ? segmented(answer) : answer])
    assert.equal(every.errors[0]?.code, 'OUT_OF_RANGE')
    assert.match(
      every.errors[0].message,
      /does not fit into one BACnet message. The link does not accept answers in segm/,
    )
  })

  test('that sends many answers to one request is reported as faulty', async () => {
    const { errors } = await scanChanged((answer) => Array.from({ length: 500 }, () => answer), { timeout_ms: 5_000 })
    assert.equal(errors[0]?.code, 'DATA_LOSS')
    assert.match(errors[0].message, /sends answers without requests/)
  })

  test('that claims many devices behind it is read for a limited number of devices and a limited time', async () => {
    /** Returns I-Am of a station on network 1, with a MAC address of two bytes. */
    const iAmOf = (index: number) => {
      const message = Buffer.from(
        '810a0019 0108 0001020000 1000 c402000000 2205c4 9103 2107'.replaceAll(' ', ''),
        'hex',
      )
      message.writeUInt16BE(index, 9)
      message.writeUInt32BE(0x0200_0000 + index, 14)
      return message
    }
    const change: ChangeAnswer = (answer, request) => {
      const isRoutedWhoIs = request.includes(Buffer.from('ffff00ff1008', 'hex'))
      return isRoutedWhoIs ? Array.from({ length: 3_000 }, (_, index) => iAmOf(index)) : [answer]
    }
    const startedMs = performance.now()
    const { assets, errors } = await scanChanged(change, { routers: true, device_seconds: 2, collect_ms: 1_000 })
    assert.ok(performance.now() - startedMs < 20_000)
    assert.ok(assets.length <= 1)
    assert.ok(errors.length >= 1)
  })

  test('delays only itself', async () => {
    await using silent = await startSimulator(controller, {
      host: '127.0.62.1',
      change: (answer) => (isAnswer(answer) ? [] : [answer]),
    })
    await using _other = await startSimulator({ ...controller, instance: 2 }, { host: '127.0.62.2', port: silent.port })
    const options = { ports: String(silent.port), timeout_ms: 30_000, device_seconds: 1 }
    const results = await resultsOf({ range: '127.0.62.1-127.0.62.2', options })
    assert.deepEqual(
      results.map(({ address }) => address?.ip_address),
      ['127.0.62.2', '127.0.62.1'],
    )
    assert.equal(errorsIn(results)[0]?.code, 'OUT_OF_RANGE')
  })
})

test('answers of other senders are discarded', async () => {
  const other = createSocket('udp4').bind(0, '127.0.60.9')
  await once(other, 'listening')
  const senders: { port: number; address: string }[] = []
  const forged = Buffer.from('810a0014 0100 1000 c4020004d2 2205c4 9103 2107'.replaceAll(' ', ''), 'hex')
  const device = createSocket('udp4').bind(0, '127.0.60.1')
  await once(device, 'listening')
  device.on('message', (_, sender) => {
    senders.push(sender)
    other.send(forged, sender.port, sender.address)
  })
  try {
    const results = await resultsOf({ options: { ports: String(device.address().port), ...impatient } })
    assert.deepEqual(results, [])
    assert.equal(senders.length, 2)
  } finally {
    device.close()
    other.close()
    await setImmediate()
  }
})

test('random changes of answers lead to devices or to errors of these devices', async () => {
  const change = fc.record({
    bytes: fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(255)), {
      minLength: 1,
      maxLength: 6,
    }),
    length: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 2, noNaN: true })),
    every: fc.integer({ min: 1, max: 5 }),
  })
  const changed = ({ bytes, length, every }: Parameters<Parameters<typeof change.map>[0]>[0]): ChangeAnswer => {
    let count = 0
    return (answer) => {
      if (++count % every !== 0) return [answer]
      const copy = Buffer.alloc(Math.floor(answer.length * length))
      answer.copy(copy)
      for (const [at, byte] of bytes) if (copy.length > 0) copy[Math.floor(at * copy.length)] = byte
      if (copy.length >= 4) copy.writeUInt16BE(copy.length, 2)
      return [copy]
    }
  }
  const behind = { '7:01': { instance: 8 }, '7:02': { instance: 9, multiple: false } }
  await using stack = new AsyncDisposableStack()
  const simulators: RunningSimulator[] = []
  for (const [index, one] of fc.sample(change, { numRuns: 60, seed: 7 }).entries()) {
    const place = { host: `127.0.63.${index + 1}`, port: simulators[0]?.port ?? 0, change: changed(one) }
    simulators.push(stack.use(await startSimulator({ ...controller, multiple: index % 2 === 0, behind }, place)))
  }
  const options = {
    ports: String(simulators[0]?.port),
    timeout_ms: 50,
    collect_ms: 100,
    device_seconds: 2,
    routers: true,
  }
  const results = await resultsOf({ range: '127.0.63.1-127.0.63.60', options })
  const codes = ['DATA_LOSS', 'UNAVAILABLE', 'OUT_OF_RANGE', 'FAILED_PRECONDITION']
  assert.deepEqual(
    errorsIn(results).filter(({ code }) => !codes.includes(code)),
    [],
  )
  assert.ok(assetsIn(results).length > 0)
  assert.ok(simulators.every(({ requests }) => requests.length > 0))
})
