import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { getEventListeners, once } from 'node:events'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { startTimer, timeLimit } from './timer.ts'

const expired = (ms: number, options?: Parameters<typeof startTimer>[2]) =>
  new Promise<void>((resolve) => void startTimer(ms, resolve, options))

/** Stops the event loop, as a busy machine does. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

describe('startTimer', () => {
  test('expires after its time', async () => {
    for (const ms of [1, 50, 203]) {
      const startedMs = performance.now()
      await expired(ms)
      // Timers of Node.js have a resolution of one millisecond.
      assert.ok(performance.now() - startedMs >= ms - 1, `${ms}`)
    }
  })

  test('does not expire after it is disposed, also in its last turns', async () => {
    let count = 0
    const first = startTimer(1, () => count++)
    first[Symbol.dispose]()
    // This timer is older than the limit, so it runs before it. The limit ends two turns of the event loop after its own timer.
    const disposed = new Promise<void>((resolve) => {
      setTimeout(() => setImmediate(() => setImmediate(() => resolve(last[Symbol.dispose]()))), 1)
    })
    const last = startTimer(1, () => count++, { slices: 1 })
    await disposed
    await expired(20)
    assert.equal(count, 0)
  })

  test('counts a pause of the process as one slice of its time', async () => {
    const ms = 800
    let isExpired = false
    using _timer = startTimer(ms, () => {
      isExpired = true
    })
    pause(2 * ms)
    const startedMs = performance.now()
    while (!isExpired) await new Promise(setImmediate)
    assert.ok(performance.now() - startedMs >= (ms / 8) * 6)
  })

  test('counts each pause if it has one slice', async () => {
    // After the pause, only turns of the event loop are left, and no timer of the process can be shorter.
    const order: string[] = []
    const expiring = expired(300, { slices: 1 }).then(() => order.push('limit'))
    pause(400)
    const later = expired(50, { slices: 1 }).then(() => order.push('later'))
    await Promise.all([expiring, later])
    assert.deepEqual(order, ['limit', 'later'])
  })

  for (const slices of [1, 8]) {
    test(`handles an answer that arrived in a pause before it expires, with ${slices} slices`, async () => {
      using device = await startDevice()
      const client = createSocket('udp4').bind(0, '127.0.0.1')
      await once(client, 'listening')
      const { promise, resolve } = Promise.withResolvers<string>()
      client.on('message', () => resolve('answer'))
      client.connect(device.port, '127.0.0.1')
      await once(client, 'connect')
      await new Promise((sent) => client.send('request', sent))
      using _timer = startTimer(5, () => resolve('silence'), { slices })
      device.waitForAnswer()
      pause(200)
      assert.equal(await promise, 'answer')
      client.close()
    })
  }
})

type Device = Disposable & { port: number; waitForAnswer: () => void }

/** Starts a device in its own thread, which answers while this thread pauses. */
async function startDevice(): Promise<Device> {
  const answered = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
     const socket = require('node:dgram').createSocket('udp4', (_, { port, address }) => {
       socket.send('answer', port, address, () => {
         Atomics.store(workerData, 0, 1)
         Atomics.notify(workerData, 0)
       })
     })
     socket.bind(0, '127.0.0.1', () => parentPort.postMessage(socket.address().port))`,
    { eval: true, workerData: answered },
  )
  const [port] = await once(worker, 'message')
  return {
    port,
    waitForAnswer: () => void Atomics.wait(answered, 0, 0, 60_000),
    [Symbol.dispose]: () => void worker.terminate(),
  }
}

describe('timeLimit', () => {
  const reason = () => new Error('too slow')

  test('aborts its signal when the time has passed since its start', async () => {
    using limit = timeLimit({ ms: 10, canceled: new AbortController().signal, reason })
    await expired(50)
    assert.equal(limit.signal.aborted, false, 'the time has not started')
    limit.start()
    limit.start()
    await once(limit.signal, 'abort')
    assert.equal(limit.signal.reason.message, 'too slow')
  })

  test('aborts its signal with the reason of the call when the call is canceled', () => {
    const canceling = new AbortController()
    using limit = timeLimit({ ms: 10_000, canceled: canceling.signal, reason })
    limit.start()
    canceling.abort(new Error('canceled'))
    assert.equal(limit.signal.reason.message, 'canceled')
  })

  test('does not count the time in which requests wait for permits', async () => {
    const given = [Promise.withResolvers<Disposable>(), Promise.withResolvers<Disposable>()]
    using limit = timeLimit({ ms: 40, canceled: new AbortController().signal, reason })
    limit.start()
    const request = { address: '10.0.0.1', protocol: 'x', operation: 'Read', kind: 'request' } as const
    const taking = given.map(({ promise }) => limit.permits({ take: () => promise }).take(request))
    await expired(120)
    given[0]?.resolve({ [Symbol.dispose]: () => undefined })
    await taking[0]
    await expired(120)
    assert.equal(limit.signal.aborted, false, 'one request still waits')
    given[1]?.reject(new Error('refused'))
    await assert.rejects(taking[1] ?? Promise.resolve(), /refused/)
    await once(limit.signal, 'abort')
    assert.equal(limit.signal.reason.message, 'too slow')
  })

  test('is aborted from the start if the call was canceled before', () => {
    using limit = timeLimit({ ms: 10_000, canceled: AbortSignal.abort(new Error('canceled')), reason })
    assert.equal(limit.signal.reason.message, 'canceled')
  })

  test('leaves no listener at the signal of the call', () => {
    const canceling = new AbortController()
    for (let device = 0; device < 10; device++)
      timeLimit({ ms: 10, canceled: canceling.signal, reason })[Symbol.dispose]()
    assert.equal(getEventListeners(canceling.signal, 'abort').length, 0)
  })

  test('does not abort its signal after it is disposed', async () => {
    const limit = timeLimit({ ms: 1, canceled: new AbortController().signal, reason })
    limit.start()
    limit[Symbol.dispose]()
    await expired(20)
    assert.equal(limit.signal.aborted, false)
  })
})
