import { mkdir } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { type Client, client, overHttp } from '@millwright/api/client.ts'
import { hierarchy as contract } from '@millwright/api/hierarchy.ts'
import { roundOf } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import {
  bearer,
  type GrownHierarchy,
  type PlatformProcess,
  type ProcessLoad,
  tokenFor,
  withHome,
  withPlatform,
} from './platform-process.ts'
import type { Goal, Report, Row } from './report.ts'

const seed = 1
const goals = { pageMs: 50, totalMs: 300, moveMs: 1_000, lagMs: 2_000 } as const
const requests = 300
const warmUps = 20
const moves = 6
const lags = 10
const waitMs = 900_000

type Platform = { url: string; token: string; api: Client<typeof contract> }

/**
 * Measures a hierarchy that has half as many nodes as assets: pages of nodes, paths, counts, lists of assets, the move
 * of a tenth of the nodes, and the lag of the counts. Example: `npm run bench hierarchy -- --assets 200000`. With
 * `--home`, the next run reuses the hierarchy.
 */
export function hierarchy({ home, ...options }: BenchOptions): Promise<Report> {
  if (home === undefined) return withHome((made) => hierarchyIn(made, options))
  return mkdir(home, { recursive: true }).then(() => hierarchyIn(home, options))
}

async function hierarchyIn(home: string, { assets, profile, only }: Omit<BenchOptions, 'home'>): Promise<Report> {
  const nodeOptions = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const nodes = Math.floor(assets / 2)
  await withPlatform({ home }, async (process) => {
    const { api } = await platformOf(process)
    if ((await api.listHierarchies({})).data.length > 0) return
    await process.request({ kind: 'grow a plant', size: { assets, relations: 1, seed } })
    await api.createHierarchy({ body: { data: { name: 'Bench' } } })
  })
  return withPlatform({ home, nodeOptions }, async (process) => {
    const platform = await platformOf(process)
    const id = (await platform.api.listHierarchies({})).data[0]?.id ?? ''
    const grown = await process.request<GrownHierarchy>({ kind: 'grow a hierarchy', hierarchyId: id, nodes })
    const rebuildMs = await rebuild(platform, process, id)
    await process.request({ kind: 'vacuum' })
    await requireCount(platform, grown.root, assets)
    const rows = await measureReads(platform, { id, grown, only })
    const moved = await measureMoves(platform, { id, grown })
    const lag = await measureLag(platform, grown)
    const { megabytes } = await process.request<ProcessLoad>({ kind: 'load' })
    return {
      title: `hierarchy: ${nodes} nodes with ${assets} assigned assets, ${megabytes.toFixed(0)} MB of memory`,
      rows: [...rows, ...moved.rows, lag.row, { workload: 'rebuild of all counts', requests: 1, 'p99 ms': rebuildMs }],
      goals: [...rows.map(pageGoal), ...moved.goals, lag.goal],
    }
  })
}

async function platformOf(process: PlatformProcess): Promise<Platform> {
  const token = await tokenFor(process)
  return { url: process.url, token, api: client(contract, overHttp({ baseUrl: process.url, token: () => token })) }
}

/**
 * Requests the computation of all counts and returns the time until it has ended. The nodes and relations were not written
 * through the API, so no events have updated the counts.
 */
async function rebuild({ api }: Platform, process: PlatformProcess, id: string): Promise<number> {
  const startedAt = performance.now()
  await api.rebuildCounts({ params: { id } })
  await process.request({ kind: 'wait for tasks', of: 'hierarchy.rebuild' })
  return performance.now() - startedAt
}

async function requireCount({ api }: Platform, id: string, assets: number): Promise<void> {
  const { totalAssetCount } = (await api.readNode({ params: { id } })).data
  if (totalAssetCount !== assets) throw new Error(`${totalAssetCount} of ${assets} assets are counted`)
}

type Measured = { id: string; grown: GrownHierarchy }

/** Returns, for each workload, a function that creates the path of a request from the number of the request. */
function workloads({ id, grown }: Measured): Record<string, (number: number) => string> {
  const one = (ids: readonly string[], number: number) => ids[(number * 7) % ids.length] ?? ''
  const nodes = `/hierarchy/v1/hierarchies/${id}/nodes`
  const assets = '/inventory/v2/assets?limit=50'
  return {
    'children of a node': (number) => `${nodes}?parentId=${one(grown.lines, number)}&limit=50`,
    'tree page, three levels': () => `${nodes}?depth=3&limit=100`,
    'tree page, all levels, 100 nodes': () => `${nodes}?depth=32&limit=100`,
    'path of a node': (number) => `/hierarchy/v1/nodes/${one(grown.cells, number)}/path`,
    'node with counts': (number) => `/hierarchy/v1/nodes/${one(grown.cells, number)}`,
    'root with counts': () => `/hierarchy/v1/nodes/${grown.root}`,
    'search, one match': (number) => `${nodes}?q=node%20${1_234 + number}`,
    'search, many matches': () => `${nodes}?q=node&limit=50`,
    'assets of a cell, with total': (number) => `${assets}&hierarchyNode=${one(grown.cells, number)}`,
    'assets of a line and below, with total': (number) =>
      `${assets}&hierarchyNode=${one(grown.lines, number)}&includeBelow=true`,
    'assets of a site and below': (number) =>
      `${assets}&hierarchyNode=${one(grown.sites, number)}&includeBelow=true&count=false`,
    'assets of the root and below': () => `${assets}&hierarchyNode=${grown.root}&includeBelow=true&count=false`,
    'total: assets of the root and below': () => `${assets}&hierarchyNode=${grown.root}&includeBelow=true`,
  }
}

async function measureReads(platform: Platform, { only, ...measured }: Measured & { only: string }): Promise<Row[]> {
  const rows: Row[] = []
  for (const [workload, path] of Object.entries(workloads(measured))) {
    if (!workload.includes(only)) continue
    for (let number = 0; number < warmUps; number++) await request(platform, path(number))
    const latencies: number[] = []
    const startedAt = performance.now()
    for (let number = 0; number < requests; number++) {
      const sentAt = performance.now()
      await request(platform, path(number))
      latencies.push(performance.now() - sentAt)
    }
    const { p50Ms, p99Ms } = roundOf(latencies, { ms: performance.now() - startedAt, cpu: 0 })
    rows.push({ workload, requests, 'p50 ms': p50Ms, 'p99 ms': p99Ms })
  }
  return rows
}

async function request({ url, token }: Platform, path: string): Promise<void> {
  const response = await fetch(`${url}${path}`, { headers: bearer(token) })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`${path} got ${response.status}`)
}

function pageGoal(row: Row): Goal {
  const withinMs = String(row.workload).startsWith('total') ? goals.totalMs : goals.pageMs
  const found = Number(row['p99 ms'])
  return {
    goal: `${row.workload}, within ${withinMs} ms 99 of 100 times`,
    found: `${found.toFixed(1)} ms`,
    reached: found < withinMs,
  }
}

/** Moves a tenth of the nodes back and forth, while another caller reads pages of nodes and assets. */
async function measureMoves(platform: Platform, measured: Measured): Promise<{ rows: Row[]; goals: Goal[] }> {
  const { root, sites } = measured.grown
  const [moved = '', target = ''] = sites
  const paths = workloads(measured)
  const read = ['children of a node', 'path of a node', 'root with counts', 'assets of a line and below, with total']
  const latencies: number[] = []
  const durations: number[] = []
  let isOver = false
  const reading = (async () => {
    for (let number = 0; !isOver; number++) {
      const sentAt = performance.now()
      await request(platform, paths[read[number % read.length] ?? '']?.(number) ?? '')
      latencies.push(performance.now() - sentAt)
    }
  })()
  for (let number = 0; number < moves; number++) {
    const startedAt = performance.now()
    const parentId = number % 2 === 0 ? target : root
    await platform.api.moveNode({ params: { id: moved }, body: { data: { parentId } } })
    durations.push(performance.now() - startedAt)
    await setTimeout(500)
  }
  isOver = true
  await reading
  const reads = roundOf(latencies, { ms: 1, cpu: 0 })
  const move = roundOf(durations, { ms: 1, cpu: 0 })
  const slowest = Math.max(...durations)
  return {
    rows: [
      { workload: 'move of a tenth of the nodes', requests: moves, 'p50 ms': move.p50Ms, 'p99 ms': slowest },
      { workload: 'reads during the moves', requests: reads.count, 'p50 ms': reads.p50Ms, 'p99 ms': reads.p99Ms },
    ],
    goals: [
      {
        goal: `the move of a tenth of the nodes takes less than ${goals.moveMs} ms`,
        found: `${slowest.toFixed(0)} ms`,
        reached: slowest < goals.moveMs,
      },
      {
        goal: `reads during the moves, within ${goals.pageMs} ms 99 of 100 times`,
        found: `${reads.p99Ms.toFixed(1)} ms`,
        reached: reads.p99Ms < goals.pageMs,
      },
    ],
  }
}

/** Assigns assets to a node, and measures the time until the count of the node includes them. */
async function measureLag({ api }: Platform, { assets, cells }: GrownHierarchy): Promise<{ row: Row; goal: Goal }> {
  const [id = '', other = ''] = cells
  await api.assignAssets({ params: { id: other }, body: { data: { assetIds: assets.slice(0, lags) } } })
  await setTimeout(goals.lagMs)
  const delays: number[] = []
  const count = async () => (await api.readNode({ params: { id } })).data.assetCount
  for (const assetId of assets.slice(0, lags)) {
    const before = await count()
    await api.assignAssets({ params: { id }, body: { data: { assetIds: [assetId] } } })
    const assignedAt = performance.now()
    while ((await count()) !== before + 1) {
      if (performance.now() - assignedAt > waitMs) throw new Error('The count does not contain the asset')
      await setTimeout(5)
    }
    delays.push(performance.now() - assignedAt)
  }
  const { p50Ms } = roundOf(delays, { ms: 1, cpu: 0 })
  const slowest = Math.max(...delays)
  return {
    row: { workload: 'lag of the counts', requests: delays.length, 'p50 ms': p50Ms, 'p99 ms': slowest },
    goal: {
      goal: `the counts contain an assignment within ${goals.lagMs} ms`,
      found: `${slowest.toFixed(0)} ms`,
      reached: slowest < goals.lagMs,
    },
  }
}
