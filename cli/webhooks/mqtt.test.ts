import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { testAuthority } from '@millwright/cloud/platform/tls/testing.ts'
import { type RunOptions, TestPlatform } from '../testing.ts'

let platform: TestPlatform
let token: string
let broker: Server
let url: string
const topics: string[] = []
const sockets = new Set<Socket>()

const packetTypes = { connect: 1, publish: 3 } as const

/** Confirms connections and events, as a broker does. Each packet of the tests is in one chunk and below 16 KiB. */
function confirm(socket: Socket, chunk: Buffer): void {
  for (let rest = chunk; rest.length > 1; ) {
    const isLong = (rest[1] ?? 0) >= 128
    const start = isLong ? 3 : 2
    const length = ((rest[1] ?? 0) & 127) + (isLong ? (rest[2] ?? 0) * 128 : 0)
    const body = rest.subarray(start, start + length)
    const type = (rest[0] ?? 0) >> 4
    if (type === packetTypes.connect) socket.write(Buffer.from([0x20, 3, 0, 0, 0]))
    if (type === packetTypes.publish) {
      const end = 2 + body.readUInt16BE(0)
      topics.push(body.toString('utf8', 2, end))
      socket.write(Buffer.from([0x40, 2, ...body.subarray(end, end + 2)]))
    }
    rest = rest.subarray(start + length)
  }
}

before(async () => {
  broker = createServer((socket) => {
    sockets.add(socket)
    socket.on('data', (chunk) => confirm(socket, chunk)).on('error', () => {})
  })
  broker.listen(0, '127.0.0.1')
  await once(broker, 'listening')
  url = `mqtt://127.0.0.1:${(broker.address() as AddressInfo).port}`
  platform = await TestPlatform.open({ outboundAllow: ['127.0.0.1'] })
  token = (await platform.as('administrator')).token
})

after(async () => {
  await platform[Symbol.asyncDispose]()
  for (const socket of sockets) socket.destroy()
  broker.close()
})

const mqtt = (args: string[], options: RunOptions = {}) => platform.run(['mqtt', ...args], { token, ...options })

async function succeed(args: string[], options: RunOptions = {}): Promise<string> {
  const { code, out, err } = await mqtt(args, options)
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  assert.ok(!`${out}${err}`.includes(plantedWord), 'the password is never printed')
  return out
}

async function fail(args: string[], code: number, options: RunOptions = {}): Promise<string> {
  const result = await mqtt(args, options)
  assert.equal(result.code, code, `${args.join(' ')}: ${result.out}${result.err}`)
  return result.err
}

const password = `the ${plantedWord} of the broker`
const selection = ['--type', 'inventory.asset', '--topic', 'plant/{kind}/{id}']

describe('mqtt', () => {
  test('create reads the password from a prompt or standard input, and never from an argument', async () => {
    const options = [...selection, '--user', 'millwright', '--retain', 'yes', '--status-topic', 'plant/status']
    const created = await succeed(['create', url, ...options, '--name', 'broker', '--paused'], { answers: [password] })
    assert.match(created, /^broker created: [0-9a-f-]{36}\n$/)
    const shown = JSON.parse(await succeed(['show', 'broker', '--json'])).data
    assert.deepEqual(
      [shown.userName, shown.hasPassword, shown.retain, shown.statusTopic, shown.state],
      ['millwright', true, true, 'plant/status', 'paused'],
    )
    await succeed(['create', url, ...selection, '--user', 'x', '--name', 'second'], { input: `${password}\n` })
    assert.match(
      await fail(['create', url, ...selection, '--user', 'x'], 2, { input: '\n' }),
      /password is empty.*--no-password/s,
    )
    await succeed(['create', url, ...selection, '--user', 'x', '--no-password', '--name', 'third', '--paused'])
    assert.match(await succeed(['list']), /^broker +paused .*\nsecond +active .*\nthird +paused /m)
    for (const name of ['second', 'third']) await succeed(['delete', name, '--yes'])
  })

  test('create refuses a topic that is not valid, and missing types and topics', async () => {
    assert.match(
      await fail(['create', url, '--type', 'x', '--topic', 'plant/{unknown}'], 2),
      /\{unknown\} is not a placeholder/,
    )
    assert.match(await fail(['create', url, '--topic', 'plant'], 2), /event types are missing/)
    await fail(['create', url, '--type', 'x'], 2)
  })

  test('update changes fields, and set-password changes and removes the password', async () => {
    await succeed(['update', 'broker', '--status-topic', 'none', '--retain', 'no', '--topic', 'test/{kind}'])
    const changed = JSON.parse(await succeed(['show', 'broker', '--json'])).data
    assert.deepEqual([changed.statusTopic, changed.retain, changed.topic], [null, false, 'test/{kind}'])
    assert.match(await succeed(['set-password', 'broker'], { input: password }), /^Password of broker changed\n$/)
    const move = ['update', 'broker', '--to', 'mqtt://127.0.0.1:8883']
    assert.match(await fail(move, 2, { input: '' }), /password is empty.*Next: .*standard input.*set-password/s)
    await succeed(move, { input: `${password}\n` })
    const authority = join(platform.folder, 'broker-authority.pem')
    await writeFile(authority, testAuthority().certificate)
    await succeed(['update', 'broker', '--authority', authority], { input: password })
    await succeed(['update', 'broker', '--authority', 'none'], { input: password })
    await succeed(['update', 'broker', '--to', url, '--user', 'other'], { answers: [password] })
    assert.match(await succeed(['set-password', 'broker', '--remove']), /^Password of broker removed\n$/)
    await succeed(['set-password', 'broker'], { input: password })
    await succeed(['update', 'broker', '--user', 'none'])
    assert.equal(JSON.parse(await succeed(['show', 'broker', '--json'])).data.hasPassword, false)
  })

  test('test publishes an event on the topic, and deliveries and delivery show it', async () => {
    assert.match(await succeed(['test', 'broker']), /^The test event was accepted with status 0 in \d+ ms\n$/)
    assert.deepEqual(topics, ['test/mqtt-publisher'])
    const line = await succeed(['deliveries', 'broker', '--ndjson'])
    assert.match(await succeed(['delivery', 'broker', JSON.parse(line).id]), /events\.mqtt-publisher\.tested/)
    assert.equal(await succeed(['retry', 'broker', '--dead-letters']), 'There are no dead letters\n')
    assert.equal(await succeed(['resume', 'broker']), 'broker is active\n')
  })

  test('test fails with the reason when no broker listens', async () => {
    const closed = createServer()
    closed.listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    await succeed(['update', 'broker', '--to', `mqtt://127.0.0.1:${port}`])
    closed.close()
    await once(closed, 'close')
    assert.match(await fail(['test', 'broker'], 1), /The broker refused the connection/)
  })
})
