import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { startSilentPort } from '@millwright/link-sdk/testing/silent-port.ts'

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
  for (const port of silent) silentPorts.push(resources.use(await startSilentPort(address, port)).port)
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
