import { authorization } from '@millwright/api/authorization.ts'
import type { Options } from './bench.ts'
import { measureLoad, requestText } from './load.ts'
import { median, type Round } from './measuring.ts'
import { bearer, type PlatformProcess, startPlatform, tokenFor, withHome } from './platform-process.ts'
import type { Report, Row } from './report.ts'

const groupCount = 5_000
const callerCounts = [1, 16, 64]
const rounds = 7
const roundMs = 400
const warmUpMs = 1_500
const leastShare = 0.5

type Way = { name: string; measure: (callers: number, ms: number) => Promise<Round> }
type Turns = Map<Way, Round[]>

/**
 * A trivial authorised read through the front, its contract and one indexed query, against the same query sent straight
 * to the driver by the same process. The ways take turns, so that whatever else the machine does hits all of them.
 */
export function front({ profile }: Options): Promise<Report> {
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
  const reads = await waysToRead(platform, token)
  for (const way of reads) await way.measure(16, warmUpMs)
  const rows: Row[] = []
  const goals: Report['goals'] = []
  for (const callers of callerCounts) {
    const turns = await takeTurns(reads, callers)
    rows.push(...rowsOf(turns, callers))
    const [through] = reads
    const share = through === undefined ? 0 : shareOf(turns, through)
    goals.push({
      goal: `${callers} ${callers === 1 ? 'caller' : 'callers'}, at least ${leastShare} of the driver's throughput`,
      found: share.toFixed(2),
      reached: share >= leastShare,
    })
  }
  const writes = waysToWrite(platform, token)
  for (const way of writes) await way.measure(16, warmUpMs)
  rows.push(...rowsOf(await takeTurns(writes, 16), 16))
  return { title: 'front: one authorised read, and its query without the platform around it', rows, goals }
}

/** The first is what is measured, the last what it is measured against. */
async function waysToRead(platform: PlatformProcess, token: string): Promise<Way[]> {
  const groupId = await platform.ask<string>({ kind: 'make groups', count: groupCount })
  const bareUrl = await platform.ask<string>({ kind: 'serve without the platform', groupId })
  const serverCpu = () => platform.ask<number>({ kind: 'cpu' })
  const path = `${authorization.prefix}/access-groups/${groupId}`
  const text = requestText('GET', path, { headers: bearer(token) })
  const over = (url: string) => (callers: number, ms: number) =>
    measureLoad({ url, callers, ms, request: () => text, status: 200, serverCpu })
  return [
    { name: 'GET through the front', measure: over(platform.url) },
    { name: 'node:http and the driver', measure: over(bareUrl) },
    {
      name: 'database layer',
      measure: (callers, ms) => platform.ask({ kind: 'query through the database layer', callers, ms, groupId }),
    },
    {
      name: 'driver',
      measure: (callers, ms) => platform.ask({ kind: 'query through the driver', callers, ms, groupId }),
    },
  ]
}

function waysToWrite(platform: PlatformProcess, token: string): Way[] {
  const serverCpu = () => platform.ask<number>({ kind: 'cpu' })
  let made = 0
  const create = () =>
    requestText('POST', `${authorization.prefix}/access-groups`, {
      headers: { ...bearer(token), 'content-type': 'application/json' },
      body: JSON.stringify({ data: { name: `another ${made++}` } }),
    })
  const { clientId, clientSecret } = platform.access
  const ask = requestText('POST', '/oauth/token', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`,
  })
  const send = (request: () => string, status: number) => (callers: number, ms: number) =>
    measureLoad({ url: platform.url, callers, ms, request, status, serverCpu })
  return [
    { name: 'POST through the front', measure: send(create, 201) },
    { name: 'token for a program', measure: send(() => ask, 200) },
  ]
}

async function takeTurns(ways: readonly Way[], callers: number): Promise<Turns> {
  const turns: Turns = new Map(ways.map((way) => [way, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [way, found] of turns) found.push(await way.measure(callers, roundMs))
  }
  return turns
}

function rowsOf(turns: Turns, callers: number): Row[] {
  return [...turns].map(([way, found]) => ({
    way: way.name,
    callers,
    'per second': median(found.map(throughput)),
    'p50 ms': median(found.map(({ p50Ms }) => p50Ms)),
    'p99 ms': median(found.map(({ p99Ms }) => p99Ms)),
    'CPU µs': median(found.map(({ cpuMicros }) => cpuMicros)),
    'share of last': shareOf(turns, way),
  }))
}

/** Of the throughput of the last way, round by round. */
function shareOf(turns: Turns, way: Way): number {
  const last = [...turns.values()].at(-1) ?? []
  const own = turns.get(way) ?? []
  return median(own.map((round, index) => throughput(round) / throughput(last[index] ?? round)))
}

function throughput({ count, seconds }: Round): number {
  return count / seconds
}
