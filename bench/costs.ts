import { setTimeout } from 'node:timers/promises'
import { client, overHttp } from '@millwright/api/client.ts'
import { events } from '@millwright/api/events.ts'
import { inventory as contract } from '@millwright/api/inventory/inventory.ts'
import { assetRequests, type RequestKind } from './asset-requests.ts'
import { rules } from './capacity/model.ts'
import type { DatabaseVolume } from './capacity-commands.ts'
import { startGateways, type WaitingGateway } from './gateways.ts'
import { cpuOf, loadOf } from './inventory-load.ts'
import { measureLoad } from './load.ts'
import type { BenchOptions } from './options.ts'
import { bearer, type PlatformProcess, tokenFor, withHome, withPlatform } from './platform-process.ts'
import type { Report, Row } from './report.ts'
import type { RecordedStatement } from './statement-sender.ts'

const seed = 1
const roundMs = 1_000
/** The code is compiled during the first requests. */
const warmUpRequests = 3_000
const longestWarmUpMs = 8_000
const rounds = 3
const recordingMs = 500
const idleMs = 5_000
const callers = 8
const perBatch = 500
const pageLimit = 100
const changedAssets = 1_000
const tenantCount = 250
const firstGateways = 10
const gatewayCount = 60
const streamCount = 20
/** The wait of a poll is short, so that the measurement contains many polls. */
const gatewayWaitSeconds = 3

type Session = {
  platform: PlatformProcess
  token: string
  /** The names of the measured costs contain this text. */
  only: string
  rows: Row[]
}

/**
 * Measures the costs that the capacity model uses: the processor time of platform and database, the statements and the
 * bytes for each request and each poll, and the memory and disk space for each gateway, stream, tenant and asset.
 */
export function costs({ assets, relations, only }: BenchOptions): Promise<Report> {
  return withHome(async (home) => {
    const asset = await withPlatform({ home }, (platform) => growPlant(platform, { assets, relations, seed }))
    return withPlatform({ home, nodeOptions: ['--expose-gc'] }, async (platform) => {
      const session: Session = { platform, token: await tokenFor(platform), only, rows: [] }
      const add = async (name: string, measure: () => Promise<Row>) => {
        if (name.includes(only)) session.rows.push({ cost: name, ...(await measure()) })
      }
      await add('process', () => idleProcess(platform))
      session.rows.push({ cost: 'asset', ...asset })
      // Gateways and streams are measured before the writes, whose caches would change the memory.
      await add('gateway', () => gatewayPolls(session, home))
      await add('stream', () => openStreams(session))
      await measureRequests(session, add)
      await add('tenant', () => tenants(session))
      return {
        title: `costs: one process, ${assets.toLocaleString('en')} assets with ${relations} relations each`,
        rows: session.rows,
        goals: [],
      }
    })
  })
}

type Add = (name: string, measure: () => Promise<Row>) => Promise<void>

async function growPlant(
  platform: PlatformProcess,
  size: { assets: number; relations: number; seed: number },
): Promise<Row> {
  const before = await volumeOf(platform)
  await platform.request({ kind: 'grow a plant', size })
  const after = await volumeOf(platform)
  return { 'disk bytes': (after.diskBytes - before.diskBytes) / size.assets }
}

/** Measures a process that has no requests. */
async function idleProcess(platform: PlatformProcess): Promise<Row> {
  await setTimeout(idleMs)
  const idle = await costOf(platform, async () => {
    await setTimeout(idleMs)
    return idleMs / 1000
  })
  return { ...idle, MiB: (await loadOf(platform)).megabytes }
}

async function measureRequests(session: Session, add: Add): Promise<void> {
  const { read, list, write, batch } = await assetRequests(session.platform)
  await add('read', () => requests(session, read))
  await add('list', () => requests(session, list))
  await add('write', () => requests(session, write))
  await add('batch asset', () => requests(session, { ...batch(perBatch), each: perBatch, callers: 2 }))
  await add('change', () => changes(session))
}

type MeasuredRequests = RequestKind & {
  /** The number of assets in one request. */
  each?: number
  callers?: number
}

/**
 * Measures requests of one kind until their last write is applied. The lowest cost of several rounds counts, because
 * other load of the machine can only raise it.
 */
async function requests({ platform }: Session, { text, status, each = 1, ...options }: MeasuredRequests): Promise<Row> {
  let requestBytes = 0
  const round = (ms: number) => async () => {
    const request = () => {
      const next = text()
      requestBytes = Buffer.byteLength(next)
      return next
    }
    const load = { url: platform.url, callers, ...options, ms, request, status, serverCpu: () => cpuOf(platform) }
    const { count } = await measureLoad(load)
    await platform.request({ kind: 'wait until everything is applied' })
    return count * each
  }
  const warmedUp = performance.now() + longestWarmUpMs
  for (let sent = 0; sent < warmUpRequests && performance.now() < warmedUp; ) sent += (await round(roundMs)()) / each
  const found: Cost[] = []
  for (let number = 0; number < rounds; number++) found.push(await costOf(platform, round(roundMs)))
  const before = await volumeOf(platform)
  const written = await round(roundMs)()
  const after = await volumeOf(platform)
  return {
    ...lowest(found),
    statements: await statementsOf(platform, round(recordingMs)),
    bytes: (requestBytes + (await responseBytes(platform, text()))) / each,
    'log bytes': (after.logBytes - before.logBytes) / written,
  }
}

/**
 * Renames assets twice and measures the second time. The rows of the first time leave free space in the tables, so the
 * database grows only by the history, the events and the audit trail.
 */
async function changes({ platform, token }: Session): Promise<Row> {
  const api = client(contract, overHttp({ baseUrl: platform.url, token: () => token }))
  const ids: string[] = []
  for (let offset = 0; offset < changedAssets; offset += pageLimit) {
    const { data } = await api.listAssets({ query: { limit: pageLimit, offset, count: false, fields: 'id' } })
    ids.push(...data.map(({ id }) => String(id)))
  }
  const rename = (name: string) => async () => {
    const left = ids.values()
    const next = async () => {
      for (const id of left) await api.setName({ params: { id }, body: { data: { name: `${name} ${id}` } } })
    }
    await Promise.all(Array.from({ length: callers }, next))
    await platform.request({ kind: 'wait until everything is applied' })
    return ids.length
  }
  await rename('First name')()
  await platform.request({ kind: 'vacuum' })
  const before = await volumeOf(platform)
  const first = await costOf(platform, rename('Second name'))
  const after = await volumeOf(platform)
  const second = await costOf(platform, rename('Third name'))
  return {
    ...lowest([first, second]),
    statements: await statementsOf(platform, rename('Fourth name')),
    bytes: changeBytes,
    'disk bytes': Math.max(0, after.diskBytes - before.diskBytes) / ids.length,
    'log bytes': (after.logBytes - before.logBytes) / ids.length,
  }
}

/** The bytes of a request that renames an asset, and of its response, with their headers. */
const changeBytes = 1_600

async function gatewayPolls({ platform }: Session, home: string): Promise<Row> {
  const waiting: WaitingGateway[] = []
  const count = () => waiting.reduce((sum, { polls }) => sum + polls, 0)
  try {
    const options = { home, waitSeconds: gatewayWaitSeconds, polls: rules.agentsPerGateway }
    // The first gateways fill caches that do not grow with the number of gateways.
    await startGateways(platform, { ...options, count: firstGateways }, waiting)
    const before = await platform.request<number>({ kind: 'live bytes' })
    await startGateways(platform, { ...options, count: gatewayCount }, waiting)
    const polling = (ms: number) => async () => {
      const started = count()
      await setTimeout(ms)
      return count() - started
    }
    await polling(idleMs)()
    const cost = await costOf(platform, polling(idleMs))
    const statements = await statementsOf(platform, polling(idleMs))
    const after = await platform.request<number>({ kind: 'live bytes' })
    return { ...cost, statements, bytes: pollBytes, 'live bytes': (after - before) / gatewayCount }
  } finally {
    await Promise.all(waiting.map((one) => one.stop()))
  }
}

/** The bytes of a poll without a job: the headers with an access token and a proof, the body, and the response. */
const pollBytes = 2_200

async function openStreams({ platform, token }: Session): Promise<Row> {
  const closing = new AbortController()
  const before = await platform.request<number>({ kind: 'live bytes' })
  try {
    const open = () =>
      fetch(`${platform.url}${events.prefix}/stream`, { headers: bearer(token), signal: closing.signal })
    await Promise.all(Array.from({ length: streamCount }, open))
    const after = await platform.request<number>({ kind: 'live bytes' })
    return { 'live bytes': (after - before) / streamCount }
  } finally {
    closing.abort()
  }
}

/** Measures the background work for tenants without requests. */
async function tenants(session: Session): Promise<Row> {
  const { platform, rows } = session
  const rest = async () => {
    await setTimeout(idleMs)
    return idleMs / 1000
  }
  const one = await costOf(platform, rest)
  const before = await volumeOf(platform)
  const ids = await platform.request<string[]>({ kind: 'create tenants', count: tenantCount })
  // The first sweep creates the periodic tasks of all tenants. It is not measured.
  await setTimeout(3 * idleMs)
  const after = await volumeOf(platform)
  const checked = await platform.request<number>({ kind: 'task checks' })
  const many = await costOf(platform, rest)
  const checks = ((await platform.request<number>({ kind: 'task checks' })) - checked) / (idleMs / 1000)
  const perCheck = (column: 'platform µs' | 'database µs') => Math.max(0, many[column] - one[column]) / checks
  const statements = (await statementsOf(platform, async () => (await rest()) * checks)) || 1
  rows.push({
    cost: 'tenant check',
    'platform µs': perCheck('platform µs'),
    'database µs': perCheck('database µs'),
    statements,
  })
  const poll = (kind: 'poll for jobs' | 'poll for events') => async () => {
    const { count } = await platform.request<{ count: number }>({ kind, tenants: ids, ms: roundMs })
    return count
  }
  for (const kind of ['poll for jobs', 'poll for events'] as const) {
    const found: Cost[] = []
    for (let round = 0; round < rounds; round++) found.push(await costOf(platform, poll(kind)))
    rows.push({ cost: kind, ...lowest(found), statements: 1 })
  }
  return { 'disk bytes': (after.diskBytes - before.diskBytes) / tenantCount }
}

type Cost = { 'platform µs': number; 'database µs': number }

/** Returns the lowest cost of several rounds. */
function lowest(found: readonly Cost[]): Cost {
  const least = (column: keyof Cost) => Math.min(...found.map((cost) => cost[column]))
  return { 'platform µs': least('platform µs'), 'database µs': least('database µs') }
}

/** Runs work that returns its count, and returns the processor time for each unit of it. */
async function costOf(platform: PlatformProcess, work: () => Promise<number>): Promise<Cost> {
  const before = await loadOf(platform)
  const count = await work()
  const after = await loadOf(platform)
  return {
    'platform µs': (after.cpu - before.cpu) / count,
    'database µs': (after.databaseCpuMicros - before.databaseCpuMicros) / count,
  }
}

async function statementsOf(platform: PlatformProcess, work: () => Promise<number>): Promise<number> {
  await platform.request({ kind: 'start recording statements' })
  const count = await work()
  const statements = await platform.request<RecordedStatement[]>({ kind: 'stop recording statements' })
  return statements.length / count
}

function volumeOf(platform: PlatformProcess): Promise<DatabaseVolume> {
  return platform.request<DatabaseVolume>({ kind: 'database volume' })
}

/** Returns the length of the response to a request, with an estimate of its headers. */
async function responseBytes({ url }: PlatformProcess, text: string): Promise<number> {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [line = '', ...headers] = head.split('\r\n')
  const [method = '', path = ''] = line.split(' ')
  const sent = headers.map((header) => header.split(': ') as [string, string])
  const kept = sent.filter(([name]) => name !== 'host' && name !== 'content-length')
  const response = await fetch(new URL(path, url), { method, headers: kept, ...(body === '' ? {} : { body }) })
  const received = await response.arrayBuffer()
  const responseHeaders = [...response.headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 17)
  return received.byteLength + responseHeaders
}
