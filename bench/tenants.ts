import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { client, overHttp } from '@millwright/api/client.ts'
import { inventory as contract } from '@millwright/api/inventory/inventory.ts'
import { measureLoad, requestText } from './load.ts'
import type { BenchOptions } from './options.ts'
import {
  bearer,
  type GrownTenants,
  type PlatformProcess,
  type TenantCredentials,
  tokenFor,
  withHome,
  withPlatform,
} from './platform-process.ts'
import type { Goal, Report, Row } from './report.ts'

const seed = 1
const roundMs = 1_000
const rounds = 4
const pageLimit = 100
const callersAtOnce = 10
const product = 'product_instance_information/manufacturer_product'
const goals = { listMs: 50, ratio: 3 } as const

/** The requests of a workload. Each of them reads the same kind of list of another tenant. */
type Workload = { name: string; requests: string[] }

/** `Target` is a platform with its own database. */
type Target = { name: string; platform: PlatformProcess; workloads: Workload[] }

/**
 * Measures lists of many tenants of the same size, with requests of all tenants in turns. Example:
 * `npm run bench tenants -- --tenants 20 --assets 50000`. With `--database`, it measures the same on the given database
 * too, in turns with the first one, so that the other load of the machine affects both. `--database` needs `--home`,
 * because the home contains the master key of the database. To measure a Citus cluster, distribute its tables first with
 * `MILLWRIGHT_HOME=<folder>/given DATABASE_URL=<URL> millwright database distribute`.
 */
export function tenants({ home, ...options }: BenchOptions): Promise<Report> {
  if (home !== undefined) return tenantsIn(home, options)
  if (options.database !== undefined) throw new Error('--database needs --home <folder>')
  return withHome((folder) => tenantsIn(folder, options))
}

async function tenantsIn(folder: string, options: Omit<BenchOptions, 'home'>): Promise<Report> {
  const { database } = options
  return withTarget({ home: join(folder, 'embedded') }, options, (embedded) => {
    if (database === undefined) return report([embedded], options)
    const given = { home: join(folder, 'given'), environment: { DATABASE_URL: database } }
    return withTarget(given, options, (other) => report([embedded, other], options))
  })
}

type Place = { home: string; environment?: Record<string, string> }
type Size = Pick<BenchOptions, 'tenants' | 'assets' | 'relations' | 'profile'>

/** Fills a database, and runs `work` with a platform that has just been started on it. */
async function withTarget<Result>(
  place: Place,
  { tenants: count, assets, relations, profile }: Size,
  work: (target: Target) => Promise<Result>,
): Promise<Result> {
  await mkdir(place.home, { recursive: true })
  const command = { kind: 'grow tenants', count, size: { assets, relations, seed } } as const
  await withPlatform(place, (platform) => platform.request<GrownTenants>(command))
  const nodeOptions = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  return withPlatform({ ...place, nodeOptions }, async (platform) => {
    const { server, credentials } = await platform.request<GrownTenants>(command)
    return work({ name: server, platform, workloads: await workloadsOf(platform, { credentials, assets }) })
  })
}

async function workloadsOf(
  platform: PlatformProcess,
  { credentials, assets }: { credentials: TenantCredentials[]; assets: number },
): Promise<Workload[]> {
  const workloads = new Map<string, string[]>()
  for (const [index, one] of credentials.entries()) {
    const token = await tokenFor({ url: platform.url, access: { ...platform.access, ...one } })
    const api = client(contract, overHttp({ baseUrl: platform.url, token: () => token }))
    // Each tenant has the same assets, so another asset is used for each tenant.
    const offset = Math.floor((assets * (index + 0.5)) / credentials.length)
    const { data } = await api.listAssets({ query: { limit: 1, offset, count: false } })
    for (const [name, query] of Object.entries(queriesOf(data[0] ?? {}))) {
      const parameters = new URLSearchParams({ limit: String(pageLimit), ...query })
      const text = requestText('GET', `${contract.prefix}/assets?${parameters}`, { headers: bearer(token) })
      workloads.set(name, [...(workloads.get(name) ?? []), text])
    }
  }
  return [...workloads].map(([name, requests]) => ({ name, requests }))
}

function queriesOf(asset: Record<string, unknown>): Record<string, Record<string, string>> {
  const { name = '' } = asset as { name?: string }
  const { serial_number: serial = '' } = (asset.product_instance_information ?? {}) as { serial_number?: string }
  const noTotal = { count: 'false' }
  return {
    'first page with total': {},
    'first page': noTotal,
    'sorted by name': { sort: 'name', ...noTotal },
    'latest first': { sort: '-last_modified_timestamp', ...noTotal },
    'by name': { filter: `name eq '${name}'` },
    'by start of name': { filter: `startswith(name,'${name.slice(0, -9)}')` },
    'by serial number': { filter: `product_instance_information/serial_number eq '${serial}'` },
    'by access group': { filter: `access_group eq '${asset.access_group}'`, ...noTotal },
    'by maker': { filter: `${product}/manufacturer/name eq 'Lumen Vision'`, ...noTotal },
    'by text of one': { q: serial },
  }
}

type Figures = { rate: number; p50: number; p99: number }

async function report(targets: readonly Target[], { tenants: count, assets, only }: BenchSize): Promise<Report> {
  const rows: Row[] = []
  const found: Goal[] = []
  for (const name of targets[0]?.workloads.map(({ name }) => name).filter((each) => each.includes(only)) ?? []) {
    for (const callers of [1, callersAtOnce]) {
      const figures = await measureInTurns(targets, { name, callers })
      for (const [index, { rate, p50, p99 }] of figures.entries()) {
        const server = targets[index]?.name ?? ''
        const ratio = p99 / (figures[0]?.p99 ?? Number.NaN)
        rows.push({ workload: name, server, callers, 'per second': rate, 'p50 ms': p50, 'p99 ms': p99, ratio })
        if (callers === 1) found.push(goalOf({ name, server, p99, ratio: index === 0 ? undefined : ratio }))
      }
    }
  }
  const servers = targets.map(({ name }) => name).join(' and ')
  return { title: `tenants: ${count} tenants with ${assets} assets each on ${servers}`, rows, goals: found }
}

type BenchSize = Pick<BenchOptions, 'tenants' | 'assets' | 'only'>

/** The first database must be fast enough. The given database is compared with the first one. */
function goalOf(list: { name: string; server: string; p99: number; ratio: number | undefined }): Goal {
  const { name, server, p99, ratio } = list
  if (ratio === undefined) {
    const goal = `${name} on ${server}, within ${goals.listMs} ms 99 of 100 times`
    return { goal, found: `${p99.toFixed(1)} ms`, reached: p99 < goals.listMs }
  }
  const goal = `${name} on ${server}, p99 within ${goals.ratio} times`
  return { goal, found: `${ratio.toFixed(1)} times`, reached: ratio <= goals.ratio }
}

/** Measures the same list on all targets in turns. The best round counts, because other load only slows a round down. */
async function measureInTurns(
  targets: readonly Target[],
  { name, callers }: { name: string; callers: number },
): Promise<Figures[]> {
  const best = targets.map((): Figures => ({ rate: 0, p50: Number.POSITIVE_INFINITY, p99: Number.POSITIVE_INFINITY }))
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { platform, workloads }] of targets.entries()) {
      const { requests } = workloads.find((workload) => workload.name === name) ?? { requests: [] }
      const { count, seconds, p50Ms, p99Ms } = await measureLoad({
        url: platform.url,
        callers,
        ms: roundMs,
        request: (sent) => requests[sent % requests.length] ?? '',
        status: 200,
        serverCpu: async () => 0,
      })
      // The first round fills the caches and prepares the statements.
      const figures = best[index]
      if (round === 0 || figures === undefined) continue
      figures.rate = Math.max(figures.rate, count / seconds)
      figures.p50 = Math.min(figures.p50, p50Ms)
      figures.p99 = Math.min(figures.p99, p99Ms)
    }
  }
  return best
}
