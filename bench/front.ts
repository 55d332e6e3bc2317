import { authorization } from '@millwright/api/authorization.ts'
import { measureLoad, requestText } from './load.ts'
import { median, type Round } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import {
  bearer,
  type PlatformProcess,
  type QueryCommand,
  startPlatform,
  tokenFor,
  withHome,
} from './platform-process.ts'
import type { Goal, Report, Row } from './report.ts'

const groupCount = 5_000
const callerCounts = [1, 16, 64]
const rounds = 9
const roundMs = 300
const warmUpCalls = 25_000
const warmUpMs = 15_000
const leastShare = 0.5

type Variant = { name: string; measure: (callers: number, ms: number) => Promise<Round> }
type Rounds = Map<Variant, Round[]>

/**
 * Compares a trivial authorised read with the same query, which the same process sends directly through the database
 * driver. The read passes the front, the contract of the operation and one indexed query. The process under test does
 * nothing else: other processes send the requests and run the database. The variants alternate, so that other load of
 * the machine affects all variants.
 */
export function front({ profile }: BenchOptions): Promise<Report> {
  const nodeOptions = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  return withHome(async (home) => {
    const platform = await startPlatform({ home, nodeOptions })
    try {
      return await compare(platform, await tokenFor(platform))
    } finally {
      await platform.stop()
    }
  })
}

async function compare(platform: PlatformProcess, token: string): Promise<Report> {
  const reads = await readVariants(platform, token)
  const writes = writeVariants(platform, token)
  const rows: Row[] = []
  const goals: Goal[] = []
  await warmUp(Object.values(reads))
  for (const callers of callerCounts) {
    const results = await alternate(Object.values(reads), callers)
    rows.push(...rowsOf(results, callers, reads.driver))
    // Throughput has a goal only for the highest number of callers. With fewer callers, a read waits for two processes,
    // but a direct query waits for only one. The report shows the results with fewer callers without a goal.
    if (callers === Math.max(...callerCounts)) goals.push(goalOf(callers, shareOf(results, reads.front, reads.driver)))
  }
  await warmUp(writes)
  rows.push(...rowsOf(await alternate(writes, 16), 16))
  return { title: 'front: one authorised read, and its query without the platform around it', rows, goals }
}

function goalOf(callers: number, share: number): Goal {
  return {
    goal: `${callers} callers, at least ${leastShare} of the driver's throughput`,
    found: share.toFixed(2),
    reached: share >= leastShare,
  }
}

async function readVariants(platform: PlatformProcess, token: string) {
  const groupId = await platform.request<string>({ kind: 'create groups', count: groupCount })
  const bareUrl = await platform.request<string>({ kind: 'serve without the platform', groupId })
  const serverCpu = () => platform.request<number>({ kind: 'cpu' })
  const text = requestText('GET', `${authorization.prefix}/access-groups/${groupId}`, { headers: bearer(token) })
  const over = (name: string, url: string): Variant => ({
    name,
    measure: (callers, ms) => measureLoad({ url, callers, ms, request: () => text, status: 200, serverCpu }),
  })
  const within = (name: string, query: QueryCommand): Variant => ({
    name,
    measure: (callers, ms) => platform.request({ ...query, callers, ms, groupId }),
  })
  return {
    front: over('GET through the front', platform.url),
    driver: within('driver', { kind: 'query through the driver', pipelined: false }),
    bare: over('node:http and the driver', bareUrl),
    layer: within('database layer', { kind: 'query through the database layer' }),
    pipelined: within('driver, pipelined', { kind: 'query through the driver', pipelined: true }),
  }
}

function writeVariants(platform: PlatformProcess, token: string): Variant[] {
  const serverCpu = () => platform.request<number>({ kind: 'cpu' })
  let made = 0
  const create = () =>
    requestText('POST', `${authorization.prefix}/access-groups`, {
      headers: { ...bearer(token), 'content-type': 'application/json' },
      body: JSON.stringify({ data: { name: `another ${made++}` } }),
    })
  const { clientId, clientSecret } = platform.access
  const tokenRequest = requestText('POST', '/oauth/token', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`,
  })
  const send = (request: () => string, status: number) => (callers: number, ms: number) =>
    measureLoad({ url: platform.url, callers, ms, request, status, serverCpu })
  return [
    { name: 'POST through the front', measure: send(create, 201) },
    { name: 'token for a program', measure: send(() => tokenRequest, 200) },
  ]
}

/**
 * Sends requests to each variant, so that the hot code is compiled before the measurement. Stops after `warmUpCalls`
 * requests, or after `warmUpMs` if that is earlier.
 */
async function warmUp(variants: readonly Variant[]): Promise<void> {
  for (const variant of variants) {
    const deadline = performance.now() + warmUpMs
    for (let calls = 0; calls < warmUpCalls && performance.now() < deadline; ) {
      calls += (await variant.measure(16, roundMs)).count
    }
  }
}

async function alternate(variants: readonly Variant[], callers: number): Promise<Rounds> {
  const results: Rounds = new Map(variants.map((variant) => [variant, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [variant, found] of results) found.push(await variant.measure(callers, roundMs))
  }
  return results
}

function rowsOf(results: Rounds, callers: number, against?: Variant): Row[] {
  return [...results].map(([variant, found]) => ({
    variant: variant.name,
    callers,
    'per second': median(found.map(throughput)),
    'p50 ms': median(found.map(({ p50Ms }) => p50Ms)),
    'p99 ms': median(found.map(({ p99Ms }) => p99Ms)),
    'CPU µs': median(found.map(({ cpuMicros }) => cpuMicros)),
    ...(against === undefined ? {} : { [`of ${against.name}`]: shareOf(results, variant, against) }),
  }))
}

/**
 * Returns the median of the ratio between the throughput of `variant` and the throughput of `other`. The ratio is
 * computed separately for each round.
 */
function shareOf(results: Rounds, variant: Variant, other: Variant): number {
  const others = results.get(other) ?? []
  const own = results.get(variant) ?? []
  return median(own.map((round, index) => throughput(round) / throughput(others[index] ?? round)))
}

function throughput({ count, seconds }: Round): number {
  return count / seconds
}
