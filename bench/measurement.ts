/** `Round` contains the results of one round of calls. */
export type Round = {
  count: number
  seconds: number
  p50Ms: number
  p99Ms: number
  /** The processor time per call that all threads of the measured process used. */
  cpuMicros: number
}

export type Loop = { callers: number; ms: number; call: (caller: number) => Promise<unknown> }

/** Runs a closed loop: each caller starts its next call after the response to its previous call. */
export async function measureCalls({ callers, ms, call }: Loop): Promise<Round> {
  const latencies: number[] = []
  const cpuBefore = cpuMicros()
  const startedAt = performance.now()
  const deadline = startedAt + ms
  const repeat = async (caller: number) => {
    for (let sentAt = performance.now(); sentAt < deadline; ) {
      await call(caller)
      const answeredAt = performance.now()
      latencies.push(answeredAt - sentAt)
      sentAt = answeredAt
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => repeat(caller)))
  return roundOf(latencies, { ms: performance.now() - startedAt, cpu: cpuMicros() - cpuBefore })
}

export function roundOf(latencies: number[], { ms, cpu }: { ms: number; cpu: number }): Round {
  const sorted = Float64Array.from(latencies).sort()
  return {
    count: sorted.length,
    seconds: ms / 1000,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    cpuMicros: cpu / Math.max(1, sorted.length),
  }
}

/** Returns the processor time that this process has used so far, in microseconds. */
export function cpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

export function median(values: readonly number[]): number {
  return percentile(Float64Array.from(values).sort(), 0.5)
}

function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
