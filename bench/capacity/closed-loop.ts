/** The processor time of one request in microseconds, in the platform, in the database and in the load generator. */
export type RequestCost = { platformMicros: number; databaseMicros: number; clientMicros: number }

export type ClosedLoop = {
  cost: RequestCost
  processes: number
  /** The processor cores that all parts share. */
  cores: number
  /** The cores that the background work of each process and its database uses without requests. */
  idleCores: number
  /** The callers that each wait for a response before they send the next request. */
  callers: number
}

export type Bottleneck = 'callers' | 'processes' | 'load generator' | 'cores'

/**
 * Predicts the requests per second of a closed loop on one machine. The rate is the lowest of four bounds: the callers
 * without any waiting, the one thread of each process, the one thread of the load generator, and the cores of the machine
 * that the background work of the processes leaves free.
 */
export function predictRate({ cost, processes, cores, idleCores, callers }: ClosedLoop): {
  rate: number
  bottleneck: Bottleneck
} {
  const { platformMicros, databaseMicros, clientMicros } = cost
  const all = platformMicros + databaseMicros + clientMicros
  const bounds: Record<Bottleneck, number> = {
    callers: callers / all,
    processes: processes / platformMicros,
    'load generator': 1 / clientMicros,
    cores: Math.max(0, cores - processes * idleCores) / all,
  }
  const [bottleneck, rate] = Object.entries(bounds).reduce((one, other) => (other[1] < one[1] ? other : one))
  return { rate: rate * 1e6, bottleneck: bottleneck as Bottleneck }
}
