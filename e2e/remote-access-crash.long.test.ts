import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, type TestContext, test } from 'node:test'
import { TestProxy } from '@millwright/gateway/remote-access/proxy-testing.ts'
import { TestDevice } from '@millwright/gateway/remote-access/testing.ts'
import { runCommand } from './command.ts'
import { killEverything } from './crash.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import {
  allowPorts,
  assertEqualBytes,
  connectDevice,
  exchange,
  exchangeMs,
  type LocalPort,
  openLocalPort,
} from './remote-device.ts'
import { type Gateway, killed, startGateway } from './shop-floor.ts'
import { withinLimit } from './time-limit.ts'

/**
 * These tests kill each program of a remote session: the gateway, the client and the platform. The other programs must end
 * or resume the connection within five seconds. On a busy machine, the tests wait longer, and print the measured time.
 */

const patienceMs = 120_000
const folder = temporaryFolder('remote-access-crash')
const home = folder.path

let platform: Platform
let caller: Caller
let gateway: Gateway
let assetId: string
/** A device that returns each byte while `isReading` is true. */
let device: TestDevice
let isReading = true
/** The gateway reaches the platform through this proxy. */
let proxy: TestProxy

const gatewayEnvironment = () => ({ MILLWRIGHT_GATEWAY_HTTP_PROXY: `http://127.0.0.1:${proxy.port}` })

before(async () => {
  device = await TestDevice.start((socket) => {
    if (isReading) socket.pipe(socket)
  })
  proxy = await TestProxy.start()
  platform = await startPlatform({ home })
  caller = await callerOf(platform)
  const ports = [device.port]
  const connected = await connectDevice(caller, { home, name: 'floor', ports, environment: gatewayEnvironment() })
  ;({ gateway, assetId } = connected)
  await allowPorts(caller, connected.groupId, ports)
})

after(async () => {
  await gateway?.program[Symbol.asyncDispose]()
  await platform?.[Symbol.asyncDispose]()
  await proxy?.[Symbol.asyncDispose]()
  await device?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const openPort = () => openLocalPort({ home, assetId, devicePort: device.port })
const sessionOf = async (id: string) => (await caller['remote-access'].readSession({ params: { id } })).data

/** Opens a connection to the device through a local port, and waits until a byte came back. */
async function openConnection({ port }: LocalPort): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.write('x')
  await withinLimit('the byte comes back', once(socket, 'data'))
  return socket
}

/** Waits until a condition is true, and prints the time since `startedAt`. */
async function measure(
  context: TestContext,
  what: string,
  condition: () => boolean | Promise<boolean>,
  startedAt: number,
): Promise<void> {
  await until(what, condition, patienceMs)
  context.diagnostic(`${what} after ${Math.round(performance.now() - startedAt)} ms`)
}

/** Sends bytes through a local port and requires that they come back. */
async function assertCarries({ port }: LocalPort, size: number): Promise<void> {
  const content = numbered(size)
  assertEqualBytes(await exchange(port, content), content)
}

/** Returns bytes that differ at each position of a block, so that lost or repeated blocks are found. */
function numbered(size: number): Buffer {
  const content = Buffer.alloc(size)
  for (let offset = 0; offset + 4 <= size; offset += 4) content.writeUInt32BE(offset, offset)
  return content
}

/** Ends a session with the command line. Returns the result of the session in the audit trail. */
async function auditedEnd(sessionId: string): Promise<Record<string, unknown>> {
  const { code, stderr } = await runCommand(['remote', 'end', sessionId], { home })
  assert.equal(code, 0, stderr)
  const query = { target: `remote-session/${sessionId}`, action: 'remote-access.closeSession', limit: 10 }
  const entries = async () => (await caller.audit.listEntries({ query })).data
  await until('the end of the session is in the audit trail', async () => (await entries()).length > 0, patienceMs)
  const [entry, ...others] = await entries()
  assert.deepEqual(others, [])
  return entry?.detail as Record<string, unknown>
}

describe('a connection through millwright connect --listen', () => {
  test('resumes after losses of the network between gateway and platform, with each byte once and in order', async (context) => {
    await using local = await openPort()
    const content = numbered(24_000_000)
    const socket = connect({ port: local.port, host: '127.0.0.1', allowHalfOpen: true })
    const tunnels = proxy.targets.length
    let received = 0
    let losses = 0
    socket.on('data', (bytes: Buffer) => {
      received += bytes.length
      if (received < (losses + 1) * 6_000_000 || losses === 3) return
      losses += 1
      proxy.interrupt()
    })
    socket.end(content)
    assertEqualBytes(await withinLimit('the bytes come back', buffer(socket), exchangeMs), content)
    assert.equal(losses, 3)
    context.diagnostic(`the gateway opened ${proxy.targets.length - tunnels} connections`)
    assert.ok(proxy.targets.length - tunnels >= losses, 'the gateway connected again after each loss')
    assert.equal(local.program.stderr(), '')
    assert.equal((await local.stop()).code, 130)
  })

  test('ends with the reason when the gateway is killed, and the session continues after its restart', async (context) => {
    await using local = await openPort()
    const socket = await openConnection(local)
    const killedAt = performance.now()
    await killed(gateway.program)
    await measure(context, 'the connection of the client ended', () => socket.closed, killedAt)
    await until('the reason is printed', () => local.program.stderr() !== '', patienceMs)
    assert.match(local.program.stderr(), /^Connection 1 ended: .*gateway/)
    await until('the connection of the device ended', () => device.sockets.size === 0, patienceMs)

    const restartedAt = performance.now()
    gateway = await startGateway('floor', { home, id: gateway.id, environment: gatewayEnvironment() })
    await assertCarries(local, 100_000)
    context.diagnostic(
      `the gateway carried a new connection ${Math.round(performance.now() - restartedAt)} ms after its start`,
    )
    assert.equal((await sessionOf(local.sessionId)).state, 'open')
    assert.equal((await local.stop()).code, 130)
  })

  test('ends at the device when the client is killed, and another command ends the session', async (context) => {
    await using local = await openPort()
    await openConnection(local)
    assert.equal(device.sockets.size, 1)
    const killedAt = performance.now()
    local.program.child.kill('SIGKILL')
    await measure(context, 'the connection of the device ended', () => device.sockets.size === 0, killedAt)
    assert.equal((await sessionOf(local.sessionId)).state, 'open')
    const { durationSeconds, ...result } = await auditedEnd(local.sessionId)
    assert.ok(Number(durationSeconds) >= 0)
    assert.partialDeepStrictEqual(result, { state: 'ended', ending: 'ended-by-user', sentBytes: 1, receivedBytes: 1 })
  })

  test('ends at a device that does not read when the client is killed', async (context) => {
    isReading = false
    context.after(() => {
      isReading = true
      for (const one of device.sockets) one.destroy()
    })
    await using local = await openPort()
    const socket = connect(local.port, '127.0.0.1').on('error', () => {})
    let sent = 0
    const send = () => {
      for (let isWaiting = false; !isWaiting; sent += 1) isWaiting = !socket.write(Buffer.alloc(65_536))
    }
    socket.on('drain', send)
    send()
    let sentBefore = 0
    let unchanged = 0
    await until('the client waits for the device', () => {
      unchanged = device.sockets.size === 1 && sent === sentBefore ? unchanged + 1 : 0
      sentBefore = sent
      return unchanged === 8
    })
    const killedAt = performance.now()
    local.program.child.kill('SIGKILL')
    const isEnded = async () => (await gateway.status()).remoteAccess.streams === 0
    await measure(context, 'the stream of the gateway ended', isEnded, killedAt)
    // The device notices the end only when it reads.
    for (const one of device.sockets) one.resume()
    await until('the connection of the device ended', () => device.sockets.size === 0, patienceMs)
    assert.equal((await auditedEnd(local.sessionId)).ending, 'ended-by-user')
  })

  test('ends when the platform is killed, and the session continues after its restart', async (context) => {
    await using local = await openPort()
    await assertCarries(local, 1_000)
    await until('the bytes are counted', async () => (await sessionOf(local.sessionId)).receivedBytes === 1_000)
    const socket = await openConnection(local)
    const killedAt = performance.now()
    await Promise.all([
      killEverything(platform, home),
      measure(context, 'the connection of the client ended', () => socket.closed, killedAt),
      measure(context, 'the connection of the device ended', () => device.sockets.size === 0, killedAt),
    ])
    await until('the reason is printed', () => local.program.stderr() !== '', patienceMs)
    assert.match(local.program.stderr(), /^Connection 2 ended: The connection to the platform was lost/)

    platform = await startPlatform({ home, environment: { MILLWRIGHT_PORT: new URL(platform.baseUrl).port } })
    caller = await callerOf(platform)
    const restartedAt = performance.now()
    await assertCarries(local, 2_000)
    context.diagnostic(`a new connection worked ${Math.round(performance.now() - restartedAt)} ms after the restart`)
    assert.equal((await sessionOf(local.sessionId)).state, 'open')

    const { durationSeconds, sentBytes, receivedBytes, ...result } = await auditedEnd(local.sessionId)
    assert.partialDeepStrictEqual(result, { state: 'ended', ending: 'ended-by-user' })
    assert.ok(Number(durationSeconds) >= 0)
    // The bytes of the last seconds before the kill are not counted.
    assert.ok([3_000, 3_001].includes(Number(sentBytes)), `${sentBytes} bytes`)
    assert.ok([3_000, 3_001].includes(Number(receivedBytes)), `${receivedBytes} bytes`)
    // A connection notices the end at once.
    connect(local.port, '127.0.0.1').on('error', () => {})
    assert.equal((await local.program.ended).code, 1)
    const { data: verdict } = await caller.audit.verify({})
    assert.deepEqual([verdict.intact, verdict.firstFault], [true, null])
  })
})
