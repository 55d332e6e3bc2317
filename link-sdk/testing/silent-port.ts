import { once } from 'node:events'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'

/** Listens in a thread that never accepts a connection. Its queue is full, so the operating system drops requests. */
const silentServer = `
const { parentPort, workerData } = require('node:worker_threads')
const server = require('node:net').createServer((socket) => socket.on('error', () => undefined))
server.listen({ host: workerData.address, port: workerData.port, backlog: 1 }, () => {
  parentPort.postMessage(server.address().port)
  Atomics.wait(workerData.lock, 0, 0)
})
`

/** The number of connections in a full queue of length 1: Linux accepts one more than the length. */
const queueLength = 2

export type SilentPort = AsyncDisposable & {
  port: number
  /** Lets the port accept connections. */
  open: () => void
}

/** Starts a port that does not answer, as behind a firewall. Port 0 selects a free port. */
export async function startSilentPort(address: string, port = 0): Promise<SilentPort> {
  await using resources = new AsyncDisposableStack()
  const lock = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(silentServer, { eval: true, workerData: { address, port, lock } })
  const open = () => {
    Atomics.store(lock, 0, 1)
    Atomics.notify(lock, 0)
  }
  resources.defer(async () => {
    open()
    await worker.terminate()
  })
  const [bound] = await once(worker, 'message')
  for (let index = 0; index < queueLength; index += 1) {
    const socket = connect(bound, address)
    resources.defer(() => void socket.destroy())
    await once(socket, 'connect')
    socket.on('error', () => undefined)
  }
  const held = resources.move()
  return { port: bound, open, [Symbol.asyncDispose]: () => held.disposeAsync() }
}
