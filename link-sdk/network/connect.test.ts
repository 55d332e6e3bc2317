import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { PermitRequest } from '@millwright/api/scan-budget.ts'
import { startSilentPort } from '../testing/silent-port.ts'
import { connectOnce, longestAttemptMs, openConnection } from './connect.ts'
import { type Permits, takePermit } from './permits.ts'

const address = '127.0.0.1'
const timeoutMs = 30_000
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Permits that count how many connections are open now, and call a function before each permit. */
function countedPermits(onTake: (count: number) => unknown = () => undefined) {
  const counted = { taken: [] as PermitRequest[], open: 0, mostOpen: 0 }
  const take: Permits['take'] = async (request) => {
    await onTake(counted.taken.push(request))
    counted.open += 1
    counted.mostOpen = Math.max(counted.mostOpen, counted.open)
    return {
      [Symbol.dispose]: () => {
        counted.open -= 1
      },
    }
  }
  return { counted, take }
}

const open = (
  port: number,
  permits: Permits,
  more: { timeoutMs?: number; localAddress?: string; signal?: AbortSignal } = {},
) =>
  openConnection({
    address,
    port,
    timeoutMs,
    permits,
    protocol: 'modbus',
    operation: 'Connect',
    signal: new AbortController().signal,
    ...more,
  })

describe('openConnection', () => {
  let server: Server
  let port = 0
  const accepted: Socket[] = []
  before(async () => {
    // The server keeps its side open after the end of the client, so only a reset ends it.
    server = createServer({ allowHalfOpen: true }, (socket) => accepted.push(socket.on('error', () => undefined)))
    await once(server.listen(0, address), 'listening')
    port = (server.address() as AddressInfo).port
  })
  after(() => {
    for (const socket of accepted) socket.destroy()
    server.close()
  })
  const nextAccepted = async () => {
    while (accepted.length === 0) await turn()
    return accepted.shift() as Socket
  }

  test('takes one permit, which ends when the connection is closed', async () => {
    const { counted, take } = countedPermits()
    const socket = await open(port, { take })
    assert.deepEqual(counted.taken, [{ address, protocol: 'modbus', operation: 'Connect', kind: 'connection' }])
    assert.equal(counted.open, 1)
    socket?.destroy()
    while (counted.open > 0) await turn()
    const peer = await nextAccepted()
    if (!peer.readableEnded) await once(peer.resume(), 'end')
  })

  test('sends from the local address', async () => {
    const socket = await open(port, countedPermits(), { localAddress: '127.0.0.5' })
    assert.equal((await nextAccepted()).remoteAddress, '127.0.0.5')
    socket?.destroy()
  })

  test('returns undefined for a refused connection, without a second attempt', async () => {
    const closed = createServer().listen(0, address)
    await once(closed, 'listening')
    const { port: closedPort } = closed.address() as AddressInfo
    closed.close()
    await once(closed, 'close')
    const { counted, take } = countedPermits()
    assert.equal(await open(closedPort, { take }), undefined)
    assert.deepEqual([counted.taken.length, counted.open], [1, 0])
  })

  test('tries a silent port again with its own permit before the operating system repeats the packet', async () => {
    assert.ok(longestAttemptMs < 1_000)
    await using silent = await startSilentPort(address)
    for (const [ms, attempts] of [
      [100, 1],
      [2 * longestAttemptMs + 50, 3],
    ] as const) {
      const { counted, take } = countedPermits()
      assert.equal(await open(silent.port, { take }, { timeoutMs: ms }), undefined)
      assert.deepEqual([counted.taken.length, counted.open, counted.mostOpen], [attempts, 0, 1])
    }
  })

  test('returns the connection of a later attempt', async () => {
    await using silent = await startSilentPort(address)
    const { counted, take } = countedPermits((count) => (count === 2 ? silent.open() : undefined))
    const socket = await open(silent.port, { take })
    assert.ok(socket !== undefined)
    assert.ok(counted.taken.length >= 2)
    assert.equal(counted.open, 1)
    socket.destroy()
  })

  test('uses a connection that was accepted while the process paused', async () => {
    const pause = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    // The connection is opened in the next tick, and the pause begins in a later one.
    const take = async () => {
      process.nextTick(() => process.nextTick(() => process.nextTick(pause)))
      return { [Symbol.dispose]: () => undefined }
    }
    const socket = await open(port, { take }, { timeoutMs: 100 })
    assert.ok(socket !== undefined)
    socket.destroy()
    await nextAccepted()
  })

  test('resets the connection when the call is canceled, so that the operating system repeats nothing', async () => {
    const canceling = new AbortController()
    const { counted, take } = countedPermits()
    const socket = await open(port, { take }, { signal: canceling.signal })
    const peer = await nextAccepted()
    const failed = once(peer.resume(), 'error')
    socket?.write('request')
    canceling.abort(new Error('canceled'))
    const [error] = await failed
    assert.equal(error.code, 'ECONNRESET')
    while (counted.open > 0) await turn()
  })

  test('ends with the reason of the signal in an attempt, and while it waits for a permit', async () => {
    await using silent = await startSilentPort(address)
    const connecting = new AbortController()
    const first = countedPermits(() => setImmediate(() => connecting.abort(new Error('canceled'))))
    await assert.rejects(open(silent.port, first, { signal: connecting.signal }), /canceled/)
    assert.deepEqual([first.counted.taken.length, first.counted.open], [1, 0])

    const waiting = new AbortController()
    const given = Promise.withResolvers<void>()
    const second = countedPermits(() => given.promise)
    const opening = open(port, second, { signal: waiting.signal })
    waiting.abort(new Error('canceled'))
    await assert.rejects(opening, /canceled/)
    given.resolve()
    await turn()
    assert.deepEqual([second.counted.mostOpen, second.counted.open], [1, 0], 'the late permit ends')
    await assert.rejects(connectOnce({ address, port, timeoutMs, signal: waiting.signal }), /canceled/)
    assert.deepEqual(accepted, [])
  })

  test('throws the refusal of a permit', async () => {
    const take = () => Promise.reject(new Error('excluded'))
    await assert.rejects(open(port, { take }), /excluded/)
    const signal = AbortSignal.abort(new Error('canceled'))
    await assert.rejects(
      takePermit({ take }, { address, protocol: 'modbus', operation: 'Connect', kind: 'connection' }, signal),
      /canceled/,
    )
  })
})
