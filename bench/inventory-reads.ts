import { client, overHttp } from '@millwright/api/client.ts'
import { inventory as contract } from '@millwright/api/inventory.ts'
import { type Bench, cpuOf, loadOf } from './inventory-load.ts'
import { measureLoad, requestText } from './load.ts'
import type { Round } from './measuring.ts'
import { bearer } from './platform-process.ts'
import type { Sent } from './raw.ts'
import type { Row } from './report.ts'

const roundMs = 800
const pageLimit = 100
const product = 'product_instance_information/manufacturer_product'

type Known = { id: string; name: string; serial: string; group: string }

function clientOf({ platform, token }: Bench) {
  return client(contract, overHttp({ baseUrl: platform.url, token: () => token }))
}

/** Ids of assets all over the plant. */
export async function idsOf(bench: Bench): Promise<string[]> {
  const found: string[] = []
  const step = Math.max(1, Math.floor(bench.size.assets / 10))
  for (let offset = 0; offset < bench.size.assets; offset += step) {
    const query = { limit: pageLimit, offset, count: false, fields: 'id' }
    const { data } = await clientOf(bench).listAssets({ query })
    found.push(...data.map(({ id }) => String(id)))
  }
  return found
}

type Workload = { name: string; path: string }

export async function measureReads(bench: Bench, ids: readonly string[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const { name, path } of await workloadsOf(bench, ids)) rows.push(...(await measureRead(bench, { name, path })))
  return rows
}

async function workloadsOf(bench: Bench, ids: readonly string[]): Promise<Workload[]> {
  const api = clientOf(bench)
  const asset = await knownAsset(bench, ids)
  const { data: properties } = await api.listCustomProperties({ query: {} })
  const { data: relations } = await api.listAssetRelations({ params: { id: asset.id }, query: { limit: pageLimit } })
  const [toNode] = relations.filter(({ object }) => object.type === 'node')
  const [toAsset] = relations.filter(({ object }) => object.type === 'asset')
  const list = (name: string, query: Record<string, string | number>): Workload => ({
    name: `list ${name}`,
    path: `${contract.prefix}/assets?${new URLSearchParams(Object.entries({ limit: pageLimit, ...query }).map(([key, value]) => [key, String(value)]))}`,
  })
  const pages = 1_000
  const limit = Math.max(1, Math.min(pageLimit, Math.floor(bench.size.assets / pages)))
  const cursor = await cursorAfter(bench, { pages, limit })
  return [
    { name: 'read by id', path: `${contract.prefix}/assets/${asset.id}` },
    { name: 'read graph of depth 3', path: `${contract.prefix}/assets/${asset.id}/graph?depth=3` },
    list('100 with total', {}),
    list('by name', { filter: `name eq '${asset.name}'` }),
    list('by beginning of name', { filter: `startswith(name,'${asset.name.slice(0, -2)}')` }),
    list('by serial number', { filter: `product_instance_information/serial_number eq '${asset.serial}'` }),
    list('by type and group', {
      filter: `functional_object_type eq 'Gateway' and access_group eq '${asset.group}'`,
    }),
    list('by type', { filter: `functional_object_type eq 'SoftwareArtifact'` }),
    list('by maker and state', {
      filter: `${product}/manufacturer/name eq 'Lumen Vision' and management_state/state_value eq 'ignored'`,
    }),
    list('by custom property', { filter: `custom_properties/${properties[0]?.key} eq '4001'` }),
    list('by text of one', { q: asset.serial }),
    list('by text of many', { q: 'press shop' }),
    list('by relation to a node', { relationsFilter: `object.id eq '${toNode?.object.id}'` }),
    list('by relation to an asset', {
      relationsFilter: `object.id eq '${toAsset?.object.id}' and predicate eq '${toAsset?.predicate}'`,
    }),
    list('by relation of an asset', { relationsFilter: `subject.id eq '${asset.id}'` }),
    list('by predicate', { relationsFilter: `predicate eq 'is_installed_on'` }),
    list('sorted by name', { sort: 'name', count: 'false' }),
    list('sorted by name, page 1000 by cursor', { sort: 'name', count: 'false', limit, cursor }),
    list('sorted by name, page 1000 by offset', { sort: 'name', count: 'false', limit, offset: limit * pages }),
    list('latest first', { sort: '-last_modified_timestamp', count: 'false' }),
  ]
}

async function knownAsset(bench: Bench, ids: readonly string[]): Promise<Known> {
  const api = clientOf(bench)
  for (const id of ids.slice(3)) {
    const { data } = await api.readAsset({ params: { id }, query: {} })
    const instance = data.product_instance_information as { serial_number: string }
    const { data: relations } = await api.listAssetRelations({ params: { id }, query: {} })
    const types = new Set(relations.map(({ object }) => object.type))
    if (types.size < 2 && bench.size.relations > 1) continue
    return { id, name: String(data.name), serial: instance.serial_number, group: String(data.access_group) }
  }
  throw new Error('There is no asset to look for')
}

async function cursorAfter(bench: Bench, { pages, limit }: { pages: number; limit: number }): Promise<string> {
  let cursor: string | undefined
  for (let page = 0; page < pages; page++) {
    const query = { sort: 'name', limit, count: false, fields: 'id', ...(cursor === undefined ? {} : { cursor }) }
    const { meta } = await clientOf(bench).listAssets({ query })
    cursor = (meta as { nextCursor?: string }).nextCursor
    if (cursor === undefined) throw new Error(`There are only ${page} pages`)
  }
  return cursor ?? ''
}

/** Alone for how long it takes, with others for how much it takes, and the same statements without the platform. */
async function measureRead(bench: Bench, { name, path }: Workload): Promise<Row[]> {
  const { platform, token } = bench
  const text = requestText('GET', path, { headers: bearer(token) })
  const measured = async (callers: number) => {
    const before = await loadOf(platform)
    const round = await measureLoad({
      url: platform.url,
      callers,
      ms: roundMs,
      request: () => text,
      status: 200,
      serverCpu: () => cpuOf(platform),
    })
    const after = await loadOf(platform)
    bench.megabytes = Math.max(bench.megabytes, after.megabytes)
    return { round, database: (after.databaseCpuMicros - before.databaseCpuMicros) / round.count }
  }
  const statements = await statementsOf(bench, path)
  if (bench.plans) await printPlans(bench, { name, path }, statements)
  const rows: Row[] = []
  for (const callers of [1, 16]) {
    const { round, database } = await measured(callers)
    const bare = await platform.ask<Round>({ kind: 'send statements', statements, callers, ms: roundMs })
    rows.push({
      workload: name,
      callers,
      'per second': throughput(round),
      'p50 ms': round.p50Ms,
      'p99 ms': round.p99Ms,
      'CPU µs': round.cpuMicros,
      'database CPU µs': database,
      'of the driver': throughput(round) / throughput(bare),
    })
  }
  return rows
}

function throughput({ count, seconds }: Round): number {
  return count / seconds
}

/** What one call sends. Work in the background may send something meanwhile, but not about assets. */
async function statementsOf({ platform, token }: Bench, path: string): Promise<Sent[]> {
  await platform.ask({ kind: 'begin to note statements' })
  await (await fetch(new URL(path, platform.url), { headers: bearer(token) })).arrayBuffer()
  const sent = await platform.ask<Sent[]>({ kind: 'statements noted' })
  return sent.filter(
    ({ text }) => /^[\s(]*(?:select|with)\b/.test(text) && /\b(assets|relations|asset_counts)\b/.test(text),
  )
}

async function printPlans({ platform }: Bench, { name, path }: Workload, statements: readonly Sent[]): Promise<void> {
  for (const statement of statements) {
    console.log(`\n${name}: ${path}\n${statement.text}\n${await platform.ask<string>({ kind: 'explain', statement })}`)
  }
}
