import { inventory as contract } from '@millwright/api/inventory/inventory.ts'
import { type PlantAsset, plantAssets } from '@millwright/links/plant/generator.ts'
import { type Bench, cpuOf, loadOf, stealBetween, withBench } from './inventory-load.ts'
import { idsOf, measureReads } from './inventory-reads.ts'
import type { ReplayResult } from './inventory-replay.ts'
import { measureLoad, requestText } from './load.ts'
import { median, type Round } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import { bearer, type PlatformProcess, withHome, withPlatform } from './platform-process.ts'
import type { Goal, Report, Row } from './report.ts'
import type { RecordedStatement } from './statement-sender.ts'

const seed = 1
const roundMs = 1_500
const rounds = 3
const recordingMs = 500
const warmUpMs = 1_500
const perBatch = 500

const goals = { single: 3_000, batch: 7_000, relations: 15_000, share: 0.5, megabytes: 512, listMs: 50 } as const

/**
 * Measures writes and reads of a plant through the front: accepted and applied writes per second, the latency of lists,
 * and the cost of the same statements without the platform.
 */
export function inventory({ profile, assets, relations, plans, only }: BenchOptions): Promise<Report> {
  const nodeOptions = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  return withHome(async (home) => {
    const size = { assets, relations }
    // A separate process creates the plant, so that the memory for creating it is not counted.
    const grown = await withPlatform({ home }, (platform) => grow(platform, size))
    const report = await withPlatform({ home, nodeOptions }, (platform) =>
      withBench({ platform, size, plans }, (bench) => measure(bench, only)),
    )
    return { ...report, rows: [grown, ...report.rows] }
  })
}

async function measure(bench: Bench, only: string): Promise<Report> {
  const { assets, relations } = bench.size
  const rows: Row[] = []
  const fresh = freshAssets()
  if (singleWorkload.includes(only)) {
    await post(bench, { fresh, callers: 16, ms: warmUpMs })
    for (const callers of [1, 16, 64]) rows.push(await compared(bench, (ms) => post(bench, { fresh, callers, ms })))
  }
  for (const relations of [0, 3]) {
    if (!batchWorkload(relations).includes(only)) continue
    await postBatches(bench, { fresh, relations, ms: warmUpMs })
    rows.push(await compared(bench, (ms) => postBatches(bench, { fresh, relations, ms })))
  }
  const ids = await idsOf(bench)
  const unrelated = relationsOf(ids)
  if (relationWorkload.includes(only)) {
    await relate(bench, { unrelated, callers: 16, ms: warmUpMs })
    for (const callers of [1, 16, 64])
      rows.push(await compared(bench, (ms) => relate(bench, { unrelated, callers, ms })))
  }
  if (relationBatchWorkload.includes(only)) {
    await relateMany(bench, { workload: relationBatchWorkload, next: unrelated, ms: warmUpMs })
    rows.push(
      await compared(bench, (ms) => relateMany(bench, { workload: relationBatchWorkload, next: unrelated, ms })),
    )
  }
  if (againWorkload.includes(only)) {
    const next = relationsOf(ids, { differentOnes: ids.length })
    const found: Row[] = []
    for (let round = 0; round <= rounds; round++)
      found.push(await relateMany(bench, { workload: againWorkload, next, ms: roundMs }))
    // The first round is left out, because it creates the relations that the other rounds write again.
    rows.push(bestOf(found.slice(1)))
  }
  rows.push(...(await measureReads(bench, ids, only)))
  rows.push({ workload: 'most memory of the platform', callers: '', MB: bench.megabytes })
  return {
    title: `inventory: ${assets} assets with ${relations} relations each`,
    rows,
    goals: goalsOf(rows),
  }
}

/** Returns the goals for the measured rates. */
function goalsOf(rows: readonly Row[]): Goal[] {
  const measured = (workload: string) => rows.filter((row) => row.workload === workload)
  const rates = (workload: string) => measured(workload).map((row) => Number(row['per second']))
  const atLeast = (goal: string, least: number, found: readonly number[]): Goal[] => {
    const best = Math.max(...found)
    const goalRow = { goal: `${goal}, at least ${least} a second`, found: best.toFixed(0), reached: best >= least }
    return found.length === 0 ? [] : [goalRow]
  }
  const relations = [relationWorkload, relationBatchWorkload].flatMap(rates)
  const lists = rows.filter(({ workload, callers }) => String(workload).startsWith('list') && callers === 1)
  const [slowest] = lists.toSorted((one, other) => Number(other['p99 ms']) - Number(one['p99 ms']))
  return [
    ...atLeast('assets posted individually, accepted and applied', goals.single, rates(singleWorkload)),
    ...atLeast('assets posted in batches, accepted and applied', goals.batch, rates(batchWorkload(0))),
    ...atLeast('new relations written', goals.relations, relations),
    ...atLeast('relations written again', goals.relations, rates(againWorkload)),
    ...shareOf(measured(singleWorkload)),
    ...shareOf(measured(batchWorkload(0))),
    ...shareOf([...measured(relationWorkload), ...measured(relationBatchWorkload)]),
    {
      goal: `the platform holds less than ${goals.megabytes} MB`,
      found: most(rows, 'MB').toFixed(0),
      reached: most(rows, 'MB') < goals.megabytes,
    },
    ...(slowest === undefined ? [] : [withinMs(slowest)]),
  ]
}

function withinMs(slowest: Row): Goal {
  const found = Number(slowest['p99 ms'])
  return {
    goal: `the slowest list responds within ${goals.listMs} ms, 99 of 100 times`,
    found: `${slowest.workload}: ${found.toFixed(1)} ms`,
    reached: found < goals.listMs,
  }
}

function most(rows: readonly Row[], column: string): number {
  return Math.max(...rows.map((row) => Number(row[column] ?? 0)))
}

function shareOf(rows: readonly Row[]): Goal[] {
  const [fastest] = rows.toSorted((one, other) => Number(other['per second']) - Number(one['per second']))
  if (fastest === undefined) return []
  const share = Number(fastest['of the driver'])
  const goal = `${fastest.workload}: at least ${goals.share} of what the same statements reach without the platform`
  return [{ goal, found: share.toFixed(2), reached: share >= goals.share }]
}

const singleWorkload = 'POST one asset'
const relationWorkload = 'POST one relation'
const relationBatchWorkload = `POST ${perBatch} relations`
const againWorkload = `${relationBatchWorkload} that are there`
const batchWorkload = (relations: number) =>
  `POST ${perBatch} assets${relations === 0 ? '' : ` with ${relations} relations each`}`

/**
 * Returns the best of several rounds, because other load of the machine can only slow a round down. After each round, a
 * short round records the statements of the platform. The reference process then sends these statements again without
 * the platform, with the same rows and commits. The short round is not measured, because recording takes memory.
 */
async function compared(bench: Bench, measured: (ms: number) => Promise<Row>): Promise<Row> {
  const found: Row[] = []
  const shares: number[] = []
  for (let round = 0; round < rounds; round++) {
    found.push(await measured(roundMs))
    await bench.platform.request({ kind: 'start recording statements' })
    const recorded = await measured(recordingMs)
    const statements = await bench.platform.request<RecordedStatement[]>({ kind: 'stop recording statements' })
    const { seconds, micros } = await bench.reference.request<ReplayResult>({
      kind: 'replay',
      target: bench.target,
      statements,
    })
    if (bench.plans) printCosts(recorded, micros)
    shares.push(seconds / Number(recorded.seconds))
  }
  return { ...bestOf(found), 'of the driver': median(shares) }
}

function bestOf(rows: readonly Row[]): Row {
  const [best = {}] = rows.toSorted((one, other) => Number(other['per second']) - Number(one['per second']))
  const least = (column: string) => Math.min(...rows.map((row) => Number(row[column])))
  return { ...best, 'CPU µs': least('CPU µs'), 'database CPU µs': least('database CPU µs') }
}

/** Prints the cost of each statement per asset, in µs of one core. */
function printCosts({ workload, assets }: Row, micros: ReplayResult['micros']): void {
  console.log(`\n${workload}: µs of one core for an asset, in the database`)
  for (const [text, cost] of micros) {
    console.log(`${(cost / Number(assets)).toFixed(1).padStart(8)}  ${text.replaceAll(/\s+/g, ' ').slice(0, 110)}`)
  }
}

/**
 * Creates the plant with a bulk load, without the front and the write queue. The result is the upper limit that the
 * database allows.
 */
async function grow(platform: PlatformProcess, size: Bench['size']): Promise<Row> {
  const startedAt = performance.now()
  const before = await loadOf(platform)
  await platform.request({ kind: 'grow a plant', size: { ...size, seed } })
  const seconds = (performance.now() - startedAt) / 1000
  const after = await loadOf(platform)
  return {
    workload: 'the plant, written without front and queue',
    callers: 1,
    'per second': size.assets / seconds,
    'CPU µs': (after.cpu - before.cpu) / size.assets,
    'database CPU µs': (after.databaseCpuMicros - before.databaseCpuMicros) / size.assets,
  }
}

/** Returns a function that generates new assets. They belong to another plant than the stored assets. */
export function freshAssets(): () => PlantAsset {
  const plant = plantAssets({ assets: Number.MAX_SAFE_INTEGER, seed: seed + 1, relations: 5 })
  return () => plant.next().value as PlantAsset
}

type PostOptions = { fresh: () => PlantAsset; callers: number; ms: number }

async function post(bench: Bench, { fresh, callers, ms }: PostOptions): Promise<Row> {
  const request = () => postText(bench, '/assets', { asset: fresh().asset })
  const { round, seconds, load } = await whileApplied(bench, () =>
    measureLoad({ url: bench.platform.url, callers, ms, request, status: 202, serverCpu: () => cpuOf(bench.platform) }),
  )
  return rowOf({ workload: singleWorkload, callers, round, seconds, load, each: 1 })
}

/** The number of batches that are created before the measurement. */
const batchesReady = 60

type Batches = { fresh: () => PlantAsset; relations: number; ms: number }

async function postBatches(bench: Bench, { fresh, relations, ms }: Batches): Promise<Row> {
  const callers = 2
  const create = () => {
    const assets = Array.from({ length: perBatch }, () => sendable(fresh(), relations))
    return postText(bench, '/assets/batch', { assets })
  }
  // Batches are created before the measurement, because creating them takes processor time from the platform.
  const ready = Array.from({ length: batchesReady }, create)
  const request = () => ready.pop() ?? create()
  const { round, seconds, load } = await whileApplied(bench, () =>
    measureLoad({ url: bench.platform.url, callers, ms, request, status: 202, serverCpu: () => cpuOf(bench.platform) }),
  )
  return rowOf({ workload: batchWorkload(relations), callers, round, seconds, load, each: perBatch })
}

/**
 * Returns the request body of an asset with `count` relations to earlier assets. The relations reference the earlier
 * assets by their identifiers.
 */
export function sendable({ asset, relations }: PlantAsset, count: number): Record<string, unknown> {
  const to = relations.flatMap((relation) => ('identifier' in relation ? [relation] : []))
  const stated = Array.from({ length: count }, (_, index) => {
    const other = to[index % Math.max(1, to.length)]
    return other === undefined ? [] : [{ ...other, predicate: `${other.predicate}_${index}` }]
  })
  if (count === 0) return asset
  return {
    ...asset,
    asset_relations: stated.flat().map(({ predicate, identifier }) => ({
      predicate,
      related_asset: { asset_identifiers: [identifier] },
      relational_role_of_related_asset: 'object',
    })),
  }
}

/**
 * Returns a function that generates relations over the whole plant. All relations differ, unless `differentOnes` limits
 * the number of different relations.
 */
function relationsOf(ids: readonly string[], { differentOnes = Infinity } = {}): () => Record<string, unknown> {
  const verb = differentOnes === Infinity ? 'is_related_to' : 'is_still_related_to'
  let stated = 0
  return () => {
    const place = stated++ % differentOnes
    const subject = { type: 'asset', id: ids[place % ids.length] }
    const object = { type: 'asset', id: ids[(place * 7) % ids.length] }
    return { subject, predicate: `${verb}_${Math.floor(place / ids.length)}`, object }
  }
}

type Unrelated = { unrelated: () => Record<string, unknown>; ms: number }

async function relate(bench: Bench, { unrelated, callers, ms }: Unrelated & { callers: number }): Promise<Row> {
  const request = () => postText(bench, '/relations', unrelated())
  const { round, seconds, load } = await whileApplied(bench, () =>
    measureLoad({ url: bench.platform.url, callers, ms, request, status: 201, serverCpu: () => cpuOf(bench.platform) }),
  )
  return rowOf({ workload: relationWorkload, callers, round, seconds, load, each: 1 })
}

type Related = { workload: string; next: () => Record<string, unknown>; ms: number }

async function relateMany(bench: Bench, { workload, next, ms }: Related): Promise<Row> {
  const callers = 2
  const request = () => postText(bench, '/relations/batch', { relations: Array.from({ length: perBatch }, next) })
  const { round, seconds, load } = await whileApplied(bench, () =>
    measureLoad({ url: bench.platform.url, callers, ms, request, status: 200, serverCpu: () => cpuOf(bench.platform) }),
  )
  return rowOf({ workload, callers, round, seconds, load, each: perBatch })
}

function postText({ token }: Bench, path: string, data: unknown): string {
  return requestText('POST', `${contract.prefix}${path}`, {
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: JSON.stringify({ data }),
  })
}

/** Runs `work`, and measures the time and the load until its last write is applied. */
async function whileApplied(bench: Bench, work: () => Promise<Round>) {
  const { platform } = bench
  const before = await loadOf(platform)
  const startedAt = performance.now()
  const round = await work()
  await platform.request({ kind: 'wait until everything is applied' })
  const seconds = (performance.now() - startedAt) / 1000
  const after = await loadOf(platform)
  bench.megabytes = Math.max(bench.megabytes, after.megabytes)
  const load = {
    cpu: after.cpu - before.cpu,
    database: after.databaseCpuMicros - before.databaseCpuMicros,
    steal: stealBetween(before.time, after.time),
  }
  return { round, seconds, load: { ...load, megabytes: after.megabytes } }
}

type Measured = {
  workload: string
  callers: number
  round: Round
  seconds: number
  load: { cpu: number; database: number; megabytes: number; steal: number }
  /** The number of assets in one call. */
  each: number
}

function rowOf({ workload, callers, round, seconds, load, each }: Measured): Row {
  const count = round.count * each
  return {
    workload,
    callers,
    'per second': count / seconds,
    'p50 ms': round.p50Ms,
    'p99 ms': round.p99Ms,
    'CPU µs': load.cpu / count,
    'database CPU µs': load.database / count,
    seconds,
    assets: count,
    'steal %': load.steal,
    MB: load.megabytes,
  }
}
