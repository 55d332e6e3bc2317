import { mkdir } from 'node:fs/promises'
import { client, overHttp } from '@millwright/api/client.ts'
import { inventory as contract } from '@millwright/api/inventory/inventory.ts'
import { type Bench, withBench } from './inventory-load.ts'
import { idsOf, measureReads } from './inventory-reads.ts'
import type { BenchOptions } from './options.ts'
import { tokenFor, withHome, withPlatform } from './platform-process.ts'
import type { Goal, Report, Row } from './report.ts'

const seed = 1

/**
 * The goals in requests per second for ten callers and ten thousand assets. The callers and the platform share two
 * cores.
 */
const rates: Record<string, number> = {
  'read by id': 6_000,
  'list 50 by beginning of name': 1_200,
  'list 100 with total': 700,
  'list 50 of one gateway': 1_600,
  'list by text of one': 1_000,
}
const rated = 10_000
const most = { listMs: 50, totalMs: 300, megabytes: 512 } as const
/** A query with more matches than this number has the same time limit as a query for the total. */
const few = 10_000

/**
 * Measures all reads of the inventory over HTTP and compares them with a reference server that sends the same
 * statements. With `--home`, the next run reuses the plant.
 */
export function reads({ home, ...options }: BenchOptions): Promise<Report> {
  if (home === undefined) return withHome((made) => readsIn(made, options))
  return mkdir(home, { recursive: true }).then(() => readsIn(home, options))
}

async function readsIn(
  home: string,
  { profile, assets, relations, plans, only }: Omit<BenchOptions, 'home'>,
): Promise<Report> {
  const nodeOptions = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const size = { assets, relations }
  // A separate process creates the plant, so that the memory for creating it is not counted.
  await withPlatform({ home }, async (platform) => {
    const isEmpty = (await totalOf(platform.url, await tokenFor(platform))) === 0
    if (isEmpty) await platform.request({ kind: 'grow a plant', size: { ...size, seed } })
  })
  return withPlatform({ home, nodeOptions }, (platform) =>
    withBench({ platform, size, plans }, async (bench) => {
      const rows = await measureReads(bench, await idsOf(bench), only)
      const title = `reads: ${assets} assets with ${relations} relations each, most memory ${bench.megabytes.toFixed(0)} MB`
      return { title, rows, goals: [...goalsOf(rows, assets), memoryGoal(bench)] }
    }),
  )
}

async function totalOf(baseUrl: string, token: string): Promise<number> {
  const api = client(contract, overHttp({ baseUrl, token: () => token }))
  return (await api.listAssets({ query: { limit: 1 } })).meta.totalElements ?? 0
}

function goalsOf(rows: readonly Row[], assets: number): Goal[] {
  return rows.flatMap((row): Goal[] => {
    const { workload, callers } = row
    const least = rates[String(workload)]
    if (callers !== 1 && assets <= rated && least !== undefined) {
      const found = Number(row['per second'])
      return [{ goal: `${workload}, at least ${least} a second`, found: found.toFixed(0), reached: found >= least }]
    }
    if (callers !== 1) return []
    const isTotal = String(workload).startsWith('total') || (Number(row.matches) > few && Number(row.matches) < assets)
    const within = isTotal ? most.totalMs : most.listMs
    const found = Number(row['p99 ms'])
    const goal = `${workload}, within ${within} ms 99 of 100 times`
    return [{ goal, found: `${found.toFixed(1)} ms`, reached: found < within }]
  })
}

function memoryGoal({ megabytes }: Bench): Goal {
  const goal = `the platform holds less than ${most.megabytes} MB`
  return { goal, found: `${megabytes.toFixed(0)} MB`, reached: megabytes < most.megabytes }
}
