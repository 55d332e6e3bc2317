import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { DiscoverCall, Target } from '@millwright/link-sdk/define-link.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { assetsIn, behindRouter, errorsIn, neighbours, silentLog } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { properties } from './properties.ts'
import { type SimulatedDevice, startSimulator } from './simulator.ts'

/** The address of the simulated controllers of the tests. */
export const testHost = '127.0.32.1'
export const testMac = '02:00:7F:00:20:01'

export const defaults = defaultOptionsOf(manifest)

export type ScanParameters = {
  range?: string
  options?: DiscoverCall['options']
  targets?: Target[]
  signal?: AbortSignal
  permits?: DiscoverCall['permits']
  progress?: DiscoverCall['progress']
  isRouted?: boolean
}

export function resultsOf({ range = testHost, options, targets = [], isRouted, ...rest }: ScanParameters) {
  const { signal = new AbortController().signal, permits = unlimitedPermits(), progress = () => undefined } = rest
  const call = {
    filters: [{ key: 'ip_range', operator: 'EQUAL' as const, value: range }],
    options: { ...defaults, timeout_ms: 10_000, ...options },
    targets,
    progress,
    signal,
    permits,
    log: silentLog,
  }
  return Array.fromAsync(discover(call, isRouted ? behindRouter : neighbours))
}

export async function scanDevice(device: SimulatedDevice, { options, ...rest }: ScanParameters = {}) {
  await using simulator = await startSimulator(device, { host: testHost })
  const results = await resultsOf({ ...rest, options: { ports: String(simulator.port), ...options } })
  const names = simulator.requests.map(({ slot, name }) => `${slot} ${name}`)
  return { results, assets: assetsIn(results), errors: errorsIn(results), names, simulator }
}

type ReadParameters = { keys?: string[]; permits?: DiscoverCall['permits']; isRouted?: boolean }

/** Reads the properties of a device. */
export function read(
  device: Partial<Target>,
  { keys = [], permits = unlimitedPermits(), isRouted }: ReadParameters = {},
) {
  const target = { address: {}, identifiers: [], credentials: [], ...device }
  const call = { device: target, keys, log: silentLog, permits, signal: new AbortController().signal }
  return properties(call, isRouted ? behindRouter : neighbours)
}

export type ByteServer = AsyncDisposable & { port: number }

/** Starts a server at the address of the tests. */
export async function listen(serve: (socket: Socket) => void): Promise<ByteServer> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    serve(socket)
  })
  server.listen(0, testHost)
  await once(server, 'listening')
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
