import { type AssetClass, assetClassOf } from '@millwright/api/asset-class.ts'
import { inventoryLimits } from '@millwright/api/inventory/shapes.ts'
import {
  type ChangedKind,
  changedKinds,
  type GroupContent,
  restKey,
  type TopologyAsset,
  type TopologyEdge,
  type TopologyGroup,
  type TopologyGroups,
} from '@millwright/api/inventory/topology-groups.ts'
import { type GroupRow, hereKey, subnetBits } from './group-store.ts'

/** Computes the groups of a response from the rows of the store. */

/** A group whose key is known before the assets are counted. */
export type NamedGroup = { key: string; name: string; type?: string; children: number; parent?: string }

export type GroupFrame = {
  kind: 'node' | 'switch' | 'subnet'
  path: TopologyGroups['path']
  /** The known groups in their order. Subnets are known only from their assets. */
  named: readonly NamedGroup[]
  /** Returns the place of a group, by the numbers of its assets per node. */
  placeOf?: ((counts: ReadonlyMap<string, number>, assets: number) => TopologyGroup['place']) | undefined
  truncated: boolean
  /** Whether the changed assets are counted by kind of change. */
  hasChangeKinds?: boolean
}

export type Counted = Pick<
  TopologyGroup,
  'assets' | 'reachability' | 'stopped' | 'stoppedRead' | 'outdated' | 'changes'
> & {
  addressed: number
  reachable: number
  unchecked: number
  unmonitored: number
  classes: Map<AssetClass, number>
  /** The numbers of changed assets by kind of change, if they are counted. */
  kinds: Record<ChangedKind, number> | undefined
}

/** Returns the response for a frame. `removed` are the rows of the assets that were removed in the compared time. */
export function groupsOf(
  { kind, path, named, placeOf, truncated, hasChangeKinds = false }: GroupFrame,
  rows: readonly GroupRow[],
  removed: readonly GroupRow[],
): GroupContent {
  const keyOf = kind === 'subnet' ? subnetKeys(rows) : (key: string) => key
  const counted = new Map<string, Counted>()
  for (const row of rows) if (row.kind === 'group') countRow(counted, keyOf(row.key), row)
  for (const row of removed) if (row.kind === 'group') countedAt(counted, keyOf(row.key)).changes.removed += row.count
  if (hasChangeKinds) countKinds(counted, rows, keyOf)
  const placed = new Map<string, Map<string, number>>()
  for (const { kind: row, key, other, count } of rows) {
    if (row !== 'place' || other === null) continue
    const counts = placed.get(keyOf(key)) ?? new Map<string, number>()
    placed.set(keyOf(key), counts.set(other, (counts.get(other) ?? 0) + count))
  }
  const switches = new Map(
    rows.flatMap((row) => (row.kind === 'self' ? [[row.key, selfOf(assetOf(row))] as const] : [])),
  )
  const known = kind === 'subnet' ? subnetsOf(rows, keyOf) : named
  const all = known.flatMap((group) => {
    const counts = counted.get(group.key)
    // Subnets exist only as long as they have assets. Nodes and switches are shown even if they have none.
    if (kind === 'subnet' && counts === undefined) return []
    const place = placeOf?.(placed.get(group.key) ?? new Map(), counts?.assets ?? 0)
    const self = switches.get(group.key)
    return [
      {
        ...shownGroup(kind, group, counts ?? emptyCount(hasChangeKinds)),
        ...(self === undefined ? {} : { self }),
        ...(place === undefined ? {} : { place }),
      },
    ]
  })
  const rest = counted.get(restKey)
  const groups = all.slice(0, inventoryLimits.topologyGroups)
  if (rest !== undefined && !isEmpty(rest)) groups.push(shownGroup('rest', { key: restKey, children: 0 }, rest))
  const assets = assetsOf([...rows, ...removed])
  const keys = new Set([...groups.map(({ key }) => key), ...assets.map(({ id }) => id)])
  const edges = edgesOf([...rows, ...removed], keyOf).filter(({ from, to }) => keys.has(from) && keys.has(to))
  const { topologyGroups, topologyGroupAssets, topologyEdges } = inventoryLimits
  return {
    path,
    total: totalOf(counted.values()),
    groups,
    assets: assets.slice(0, topologyGroupAssets),
    edges: edges.slice(0, topologyEdges),
    truncated:
      truncated || all.length > topologyGroups || assets.length > topologyGroupAssets || edges.length > topologyEdges,
  }
}

export function emptyCount(hasChangeKinds = false): Counted {
  return {
    assets: 0,
    addressed: 0,
    reachable: 0,
    unchecked: 0,
    unmonitored: 0,
    reachability: { reached: 0, failed: 0, unknown: 0 },
    stopped: 0,
    stoppedRead: 0,
    outdated: 0,
    changes: { added: 0, changed: 0, removed: 0 },
    classes: new Map(),
    kinds: hasChangeKinds ? noKinds() : undefined,
  }
}

function noKinds(): Record<ChangedKind, number> {
  return { firmware: 0, software: 0, name: 0, connection: 0, state: 0, other: 0 }
}

function isEmpty({ assets, changes }: Counted): boolean {
  return assets === 0 && changes.removed === 0
}

function countedAt(counted: Map<string, Counted>, key: string): Counted {
  const known = counted.get(key) ?? emptyCount()
  counted.set(key, known)
  return known
}

/** Counts the changed assets of all groups by kind of change. */
function countKinds(counted: Map<string, Counted>, rows: readonly GroupRow[], keyOf: (key: string) => string): void {
  for (const each of counted.values()) each.kinds = noKinds()
  for (const { kind, key, other, count } of rows) {
    const { kinds } = counted.get(keyOf(key)) ?? {}
    if (kind === 'change' && kinds !== undefined && isChangedKind(other)) kinds[other] += count
  }
}

function isChangedKind(text: string | null): text is ChangedKind {
  return changedKinds.some((kind) => kind === text)
}

function countRow(counted: Map<string, Counted>, key: string, row: GroupRow): void {
  const at = countedAt(counted, key)
  addCounts(at, row)
  for (const [family, product, tag, count] of productsOf(row))
    countClass(at, assetClassOf({ type: row.type, family, product, name: tag }), count)
  at.changes.added += row.added
  at.changes.changed += row.changed
}

/** Adds one asset to the counts of a group. */
export function countAsset(at: Counted, row: GroupRow): void {
  addCounts(at, row)
  countClass(at, classOf(row), 1)
  if (row.change !== null) at.changes[row.change]++
}

function addCounts(at: Counted, row: GroupRow): void {
  at.assets += row.count
  at.addressed += row.addressed
  at.stopped += row.stopped
  at.stoppedRead += row.stopped_read
  at.outdated += row.outdated
  at.reachable += row.reachable
  at.unchecked += row.unchecked
  at.unmonitored += unmonitoredOf(row)
  at.reachability[row.reachability ?? 'unknown'] += row.count
}

function countClass(at: Counted, found: AssetClass, count: number): void {
  at.classes.set(found, (at.classes.get(found) ?? 0) + count)
}

type ProductCount = [family: string | null, product: string | null, tag: string | null, count: number]

/** Returns the numbers of assets per product of a row of the kind `group`. */
function productsOf({ name }: GroupRow): ProductCount[] {
  return name === null ? [] : JSON.parse(name)
}

function classOf({ type, family, product, tag }: GroupRow): AssetClass {
  return assetClassOf({ type, family, product, name: tag })
}

export function shownGroup(
  kind: TopologyGroup['kind'],
  { key, name, type, children, parent }: Omit<NamedGroup, 'name'> & { name?: string },
  counted: Counted,
): TopologyGroup {
  const { assets, addressed, reachability, stopped, stoppedRead, outdated, changes, classes, kinds } = counted
  return {
    key,
    kind,
    ...(name === undefined ? {} : { name }),
    ...(type === undefined ? {} : { type }),
    children,
    ...(parent === undefined ? {} : { parent }),
    assets,
    ...(kind === 'subnet' ? { addressed } : {}),
    reachability,
    stopped,
    stoppedRead,
    outdated,
    classes: [...classes]
      .toSorted(([one, few], [other, many]) => many - few || (one < other ? -1 : 1))
      .map(([each, count]) => ({ class: each, assets: count })),
    monitoring: monitoringOf(counted),
    changes,
    ...(kinds === undefined ? {} : { changeKinds: kinds }),
  }
}

/** Returns the state of the switch of a group. */
export function selfOf({ monitoring, outdated }: TopologyAsset): NonNullable<TopologyGroup['self']> {
  return { ...(monitoring === undefined ? {} : { monitoring }), ...(outdated === undefined ? {} : { outdated }) }
}

/** Returns the number of devices that no monitoring checks. Gateways and software are not monitored, so they do not count. */
function unmonitoredOf({ type, count, reachability, reachable, unchecked }: GroupRow): number {
  if (type !== 'Device') return 0
  return count - (reachability === 'failed' ? count : 0) - reachable - unchecked
}

type MonitoredCounts = Pick<Counted, 'reachability' | 'reachable' | 'unchecked' | 'unmonitored'>

function monitoringOf(counted: MonitoredCounts): TopologyGroup['monitoring'] {
  const { reachability, reachable, unchecked, unmonitored } = counted
  return { reachable, unreachable: reachability.failed, unchecked, unmonitored }
}

function monitoringStateOf(row: GroupRow): TopologyAsset['monitoring'] {
  if (row.reachability === 'failed') return 'unreachable'
  if (row.reachable > 0) return 'reachable'
  if (row.unchecked > 0) return 'unchecked'
  return unmonitoredOf(row) > 0 ? 'unmonitored' : undefined
}

export function totalOf(all: Iterable<Counted>): TopologyGroups['total'] {
  const { reachability, changes } = emptyCount()
  const total = {
    assets: 0,
    reachability,
    stopped: 0,
    stoppedRead: 0,
    outdated: 0,
    reachable: 0,
    unchecked: 0,
    unmonitored: 0,
    changes,
  }
  let kinds: Record<ChangedKind, number> | undefined
  for (const each of all) {
    total.assets += each.assets
    total.reachable += each.reachable
    total.unchecked += each.unchecked
    total.unmonitored += each.unmonitored
    total.stopped += each.stopped
    total.stoppedRead += each.stoppedRead
    total.outdated += each.outdated
    for (const state of ['reached', 'failed', 'unknown'] as const) reachability[state] += each.reachability[state]
    for (const change of ['added', 'changed', 'removed'] as const) changes[change] += each.changes[change]
    if (each.kinds === undefined) continue
    kinds ??= noKinds()
    for (const kind of changedKinds) kinds[kind] += each.kinds[kind]
  }
  const { assets, stopped, stoppedRead, outdated } = total
  const shown = { assets, reachability, stopped, stoppedRead, outdated, monitoring: monitoringOf(total), changes }
  return kinds === undefined ? shown : { ...shown, changeKinds: kinds }
}

function assetsOf(rows: readonly GroupRow[]): TopologyAsset[] {
  const kinds = Map.groupBy(
    rows.filter(({ kind }) => kind === 'changed'),
    ({ key }) => key,
  )
  return rows.flatMap((row) => {
    if (row.kind !== 'asset') return []
    const changed = kinds.get(row.key)?.flatMap(({ other }) => (isChangedKind(other) ? [other] : []))
    return [{ ...assetOf(row), ...(changed === undefined ? {} : { changed: changed.toSorted() }) }]
  })
}

export function assetOf(row: GroupRow): TopologyAsset {
  const { key, name, type, management, reachability, stopped, stopped_read: stoppedRead, outdated, change } = row
  const monitoring = monitoringStateOf(row)
  return {
    id: key,
    ...(name === null ? {} : { name }),
    ...(type === null ? {} : { functional_object_type: type }),
    class: classOf(row),
    management_state: management ?? 'unknown',
    reachability_state: reachability ?? 'unknown',
    ...(monitoring === undefined ? {} : { monitoring }),
    ...(stopped > 0 ? { stopped: true } : {}),
    ...(stoppedRead > 0 ? { stoppedRead: true } : {}),
    ...(outdated > 0 ? { outdated: true } : {}),
    ...(change === null ? {} : { change }),
  }
}

/** Returns the edges, with the sums of edges whose groups were merged into one. */
function edgesOf(rows: readonly GroupRow[], keyOf: (key: string) => string): TopologyEdge[] {
  const sums = new Map<string, TopologyEdge>()
  for (const { kind, key, other, name, count } of rows) {
    if (kind !== 'edge') continue
    const [from, to, predicate] = [keyOf(key), keyOf(other ?? ''), name ?? '']
    if (from === to) continue
    const sum = sums.get(`${from} ${to} ${predicate}`)
    if (sum === undefined) sums.set(`${from} ${to} ${predicate}`, { from, to, predicate, count })
    else sum.count += count
  }
  return orderedEdges(sums.values())
}

/** Returns the edges in the order of their counts, the highest first. Edges with equal counts have a stable order. */
export function orderedEdges(edges: Iterable<TopologyEdge>): TopologyEdge[] {
  const order = (one: string, other: string) => (one < other ? -1 : Number(one > other))
  return [...edges].toSorted(
    (one, other) =>
      other.count - one.count ||
      order(one.from, other.from) ||
      order(one.to, other.to) ||
      order(one.predicate, other.predicate),
  )
}

const coarser = [subnetBits, 16, 8] as const

/**
 * Returns a function that returns the group of a subnet. If there are too many subnets with 24 bits, they are merged into
 * subnets with 16 or 8 bits.
 */
function subnetKeys(rows: readonly GroupRow[]): (key: string) => string {
  const keys = new Set(rows.flatMap(({ kind, key }) => (kind === 'group' ? [key] : [])))
  const bits =
    coarser.find((each) => new Set([...keys].map((key) => widen(key, each))).size <= inventoryLimits.topologyGroups) ??
    8
  return (key) => widen(key, bits)
}

/** Returns the IPv4 subnet with fewer bits that contains a subnet. Other keys do not change. */
export function widen(key: string, bits: number): string {
  if (bits >= subnetBits || !/^[0-9.]+\/24$/.test(key)) return key
  const numbers = key.split('.').slice(0, bits / 8)
  return `${numbers.join('.')}${'.0'.repeat(4 - numbers.length)}/${bits}`
}

function subnetsOf(rows: readonly GroupRow[], keyOf: (key: string) => string): NamedGroup[] {
  const smallest = new Set(rows.flatMap(({ kind, key }) => (kind === 'group' ? [key] : [])))
  const inside = Map.groupBy(
    [...smallest].filter((key) => key !== restKey && key !== hereKey),
    keyOf,
  )
  return [...inside]
    .map(([key, members]) => ({ key, name: key, children: members.length > 1 ? members.length : 0 }))
    .toSorted((one, other) => compareSubnets(one.key, other.key))
}

/** Orders subnets by their numbers, IPv4 before IPv6. */
function compareSubnets(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}
