import { client, overHttp } from '@millwright/api/client.ts'
import { inventory as contract } from '@millwright/api/inventory/inventory.ts'
import { type Bench, cpuOf, loadOf } from './inventory-load.ts'
import { measureLoad, requestText } from './load.ts'
import type { Round } from './measurement.ts'
import { bearer } from './platform-process.ts'
import type { Row } from './report.ts'
import type { RecordedStatement } from './statement-sender.ts'

const roundMs = 400
const rounds = 4
const pageLimit = 100
const deepPages = 10_000
const callersAtOnce = 10
const product = 'product_instance_information/manufacturer_product'

type SampleAsset = { id: string; name: string; serial: string; mac: string; group: string }

function clientOf({ platform, token }: Bench) {
  return client(contract, overHttp({ baseUrl: platform.url, token: () => token }))
}

/** Returns ids of assets that are distributed over the whole plant. */
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

export async function measureReads(bench: Bench, ids: readonly string[], only = ''): Promise<Row[]> {
  const rows: Row[] = []
  for (const workload of await workloadsOf(bench, ids)) {
    if (workload.name.includes(only)) rows.push(...(await measureRead(bench, workload)))
  }
  return rows
}

async function workloadsOf(bench: Bench, ids: readonly string[]): Promise<Workload[]> {
  const api = clientOf(bench)
  const asset = await findSampleAsset(bench, ids)
  const { data: properties } = await api.listCustomProperties({ query: {} })
  const { data: assigned } = await api.listRelations({
    query: { filter: `predicate eq 'is_assigned_to_node'`, limit: 1 },
  })
  const { data: watched } = await api.listRelations({ query: { filter: `predicate eq 'is_watched_by'`, limit: 1 } })
  const gateway = watched[0]?.object.id
  const at = (path: string, query: Record<string, string | number> = {}) =>
    `${contract.prefix}${path}?${new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]))}`
  const list = (name: string, query: Record<string, string | number>): Workload => ({
    name: `list ${name}`,
    path: at('/assets', { limit: pageLimit, ...query }),
  })
  const page = { count: 'false' }
  const limit = Math.max(1, Math.min(pageLimit, Math.floor(bench.size.assets / (deepPages + 1))))
  const sorted = { sort: 'name', ...page, limit }
  const watching = { relationsFilter: `object.id eq '${gateway}' and predicate eq 'is_watched_by'` }
  const many = {
    type: { filter: `functional_object_type eq 'Device'` },
    makerAndState: {
      filter: `${product}/manufacturer/name eq 'Lumen Vision' and management_state/state_value eq 'regarded'`,
    },
    text: { q: 'press shop' },
    predicate: { relationsFilter: `predicate eq 'is_connected_to'` },
    toNodes: { relationsFilter: `predicate eq 'is_assigned_to_node'` },
  }
  return [
    { name: 'read by id', path: at(`/assets/${asset.id}`) },
    { name: 'read graph of depth 3', path: at(`/assets/${asset.id}/graph`, { depth: 3 }) },
    { name: 'read relations of one', path: at(`/assets/${asset.id}/relations`) },
    list('100 with total', {}),
    list('by name', { filter: `name eq '${asset.name}'` }),
    list('50 by beginning of name', { filter: `startswith(name,'${asset.name.slice(0, -9)}')`, limit: 50 }),
    list('by serial number', { filter: `product_instance_information/serial_number eq '${asset.serial}'` }),
    list('by identifier', { filter: `asset_identifiers/any(i: i/value eq '${asset.mac}')` }),
    list('by type and group', { filter: `functional_object_type eq 'Gateway' and access_group eq '${asset.group}'` }),
    list('by maker and state', {
      filter: `${product}/manufacturer/name eq 'Lumen Vision' and management_state/state_value eq 'ignored'`,
    }),
    list('by custom property', { filter: `custom_properties/${properties[0]?.key} eq '4001'` }),
    list('by text of one', { q: asset.serial }),
    list('by two words', { q: `${asset.name.slice(0, 3)} lumen` }),
    list('by relation to a node', { relationsFilter: `object.id eq '${assigned[0]?.object.id}'` }),
    list('50 of one gateway', { ...watching, limit: 50 }),
    list('by relation of an asset', { relationsFilter: `subject.id eq '${asset.id}'` }),
    list('sorted by name', sorted),
    list(`sorted by name, page ${deepPages} by cursor`, { ...sorted, cursor: await cursorAfter(bench, limit) }),
    list('latest first', { sort: '-last_modified_timestamp', ...page }),
    ...Object.entries(many).flatMap(([name, query]) => [
      list(`many by ${name}, no total`, { ...query, ...page }),
      { name: `total of many by ${name}`, path: at('/assets', { limit: pageLimit, ...query }) },
    ]),
    { name: 'list relations', path: at('/relations', { limit: pageLimit }) },
    { name: 'list relations of a predicate', path: at('/relations', { filter: `predicate eq 'is_connected_to'` }) },
    { name: 'list predicates', path: at('/relations/predicates') },
    { name: 'total of each type', path: at('/assets/facets', { by: 'functional_object_type' }) },
    { name: 'total of each firmware version', path: at('/assets/facets', { by: 'firmware_version' }) },
  ]
}

async function findSampleAsset(bench: Bench, ids: readonly string[]): Promise<SampleAsset> {
  const api = clientOf(bench)
  for (const id of ids.slice(3)) {
    const { data } = await api.readAsset({ params: { id }, query: {} })
    const instance = data.product_instance_information as { serial_number: string }
    const { data: relations } = await api.listAssetRelations({ params: { id }, query: {} })
    const types = new Set(relations.map(({ object }) => object.type))
    if (types.size < 2 && bench.size.relations > 1) continue
    const { data: identifiers } = await api.readIdentifiers({ params: { id } })
    const mac = identifiers.find(({ mac_address }) => mac_address !== undefined)?.mac_address
    if (mac === undefined) continue
    const serial = instance.serial_number
    return { id, name: String(data.name), serial, mac: String(mac), group: String(data.access_group) }
  }
  throw new Error('The plant has no suitable asset')
}

/** Returns the cursor after a page that is far from the start of the list, sorted by name. */
async function cursorAfter(bench: Bench, limit: number): Promise<string> {
  const api = clientOf(bench)
  const query = { sort: 'name', limit, count: false, fields: 'id' }
  const offset = Math.min(bench.size.assets - 1, deepPages * limit) - limit
  const { meta } = await api.listAssets({ query: { ...query, offset: Math.max(0, offset) } })
  const { nextCursor } = meta as { nextCursor?: string }
  if (nextCursor === undefined) throw new Error('The plant has too few assets for so many pages')
  return nextCursor
}

/**
 * Measures the latency of a read with one caller, its throughput with several callers, and the cost of its statements
 * without the platform. The best of several rounds counts, because other load of the machine can only slow a round
 * down.
 */
async function measureRead(bench: Bench, { name, path }: Workload): Promise<Row[]> {
  const { platform, reference, target, token } = bench
  const text = requestText('GET', path, { headers: bearer(token) })
  const once = async (url: string, callers: number) => {
    const before = await loadOf(platform)
    const serverCpu = () => cpuOf(url === platform.url ? platform : reference)
    const round = await measureLoad({ url, callers, ms: roundMs, request: () => text, status: 200, serverCpu })
    const after = await loadOf(platform)
    bench.megabytes = Math.max(bench.megabytes, after.megabytes)
    return { ...round, database: (after.databaseCpuMicros - before.databaseCpuMicros) / round.count }
  }
  const best = async (url: string, callers: number) => {
    const measured: Awaited<ReturnType<typeof once>>[] = []
    for (let round = 0; round < rounds; round++) measured.push(await once(url, callers))
    const least = (column: 'p50Ms' | 'p99Ms' | 'cpuMicros' | 'database') =>
      Math.min(...measured.map(({ [column]: found }) => found))
    const [p50, p99, cpu, database] = [least('p50Ms'), least('p99Ms'), least('cpuMicros'), least('database')]
    return { rate: Math.max(...measured.map(throughput)), p50, p99, cpu, database }
  }
  const { statements, matches } = await recordedStatements(bench, path)
  if (bench.plans) await printPlans(bench, { name, path }, statements)
  const rows: Row[] = []
  const bareUrl = await reference.request<string>({ kind: 'serve statements', target, statements })
  for (const callers of [1, callersAtOnce]) {
    const found = await best(platform.url, callers)
    const bare = await best(bareUrl, callers)
    rows.push({
      workload: name,
      callers,
      matches: matches ?? '',
      'per second': found.rate,
      'p50 ms': found.p50,
      'p99 ms': found.p99,
      'CPU µs': found.cpu,
      'database CPU µs': found.database,
      statements: statements.length,
      'bare per second': bare.rate,
      'bare CPU µs': bare.cpu + bare.database,
      'of bare': found.rate / bare.rate,
    })
  }
  return rows
}

function throughput({ count, seconds }: Round): number {
  return count / seconds
}

/**
 * Returns the statements that one request causes. Background work may send statements at the same time, but none of
 * those statements reads assets.
 */
async function recordedStatements(
  { platform, token }: Bench,
  path: string,
): Promise<{ statements: RecordedStatement[]; matches: number | undefined }> {
  await platform.request({ kind: 'start recording statements' })
  const response = await fetch(new URL(path, platform.url), { headers: bearer(token) })
  const { meta } = (await response.json()) as { meta?: { totalElements?: number } }
  const sent = await platform.request<RecordedStatement[]>({ kind: 'stop recording statements' })
  const statements = sent.filter(
    ({ text }) =>
      /^[\s(]*(?:select|with)\b/.test(text) &&
      /\b(assets|relations|asset_counts|asset_facets|asset_words|relation_counts)\b/.test(text),
  )
  return { statements, matches: meta?.totalElements }
}

async function printPlans(
  { platform }: Bench,
  { name, path }: Workload,
  statements: readonly RecordedStatement[],
): Promise<void> {
  for (const statement of statements) {
    console.log(
      `\n${name}: ${path}\n${statement.text}\n${await platform.request<string>({ kind: 'explain', statement })}`,
    )
  }
}
