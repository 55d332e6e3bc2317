import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'

/** `SimulatedHost` is a host at an address of the loopback network. All other ports of the address are closed. */
export type SimulatedHost = AsyncDisposable & {
  address: string
  openPorts: readonly number[]
  /** The ports that do not answer, as behind a firewall. */
  silentPorts: readonly number[]
  /** The connections to open ports so far, and the number of bytes that clients have sent. */
  traffic: { connections: number; bytes: number; openNow: number; mostOpen: number }
}

type HostSettings = {
  address: string
  /** The open ports. 0 selects a free port. */
  open?: readonly number[]
  silent?: readonly number[]
}

export async function startHost({ address, open = [], silent = [] }: HostSettings): Promise<SimulatedHost> {
  await using resources = new AsyncDisposableStack()
  const traffic = { connections: 0, bytes: 0, openNow: 0, mostOpen: 0 }
  const openPorts: number[] = []
  for (const port of open) openPorts.push(await openPort(address, port, { traffic, resources }))
  const silentPorts: number[] = []
  for (const port of silent) silentPorts.push(await silentPort(address, port, resources))
  const held = resources.move()
  return { address, openPorts, silentPorts, traffic, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

type OpenPort = { traffic: SimulatedHost['traffic']; resources: AsyncDisposableStack }

/** Opens a port that accepts connections and sends a greeting, as SSH servers do. */
async function openPort(address: string, port: number, { traffic, resources }: OpenPort): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    traffic.connections += 1
    traffic.openNow += 1
    traffic.mostOpen = Math.max(traffic.mostOpen, traffic.openNow)
    socket.on('data', (bytes) => {
      traffic.bytes += bytes.byteLength
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      traffic.openNow -= 1
    })
    socket.end('ready\r\n')
  })
  server.listen(port, address)
  await once(server, 'listening')
  resources.defer(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return portOf(server)
}

function portOf(server: Server): number {
  const bound = server.address()
  return typeof bound === 'object' && bound !== null ? bound.port : 0
}

/** Listens in a thread that never accepts a connection. Its queue is full, so the operating system drops requests. */
const silentServer = `
const { parentPort, workerData } = require('node:worker_threads')
const server = require('node:net').createServer()
server.listen({ host: workerData.address, port: workerData.port, backlog: 1 }, () => {
  parentPort.postMessage(server.address().port)
  Atomics.wait(workerData.lock, 0, 0)
})
`

/** The number of connections in a full queue of length 1: Linux accepts one more than the length. */
const queueLength = 2

async function silentPort(address: string, port: number, resources: AsyncDisposableStack): Promise<number> {
  const lock = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(silentServer, { eval: true, workerData: { address, port, lock } })
  resources.defer(async () => {
    Atomics.store(lock, 0, 1)
    Atomics.notify(lock, 0)
    await worker.terminate()
  })
  const [bound] = await once(worker, 'message')
  for (let index = 0; index < queueLength; index += 1) {
    const socket = connect(bound, address)
    resources.defer(() => void socket.destroy())
    await once(socket, 'connect')
  }
  return bound
}
