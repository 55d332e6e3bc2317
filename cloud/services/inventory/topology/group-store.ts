import { tagLength } from '@millwright/api/asset-class.ts'
import { assignmentPredicate } from '@millwright/api/assignment-predicate.ts'
import { inventoryLimits, type managementStates, type reachabilityStates } from '@millwright/api/inventory/shapes.ts'
import { type changeKinds, type Grouping, restKey } from '@millwright/api/inventory/topology-groups.ts'
import type { OutdatedVersion } from '@millwright/api/updates.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { arrayOf } from '../../../platform/database/rowset.ts'
import { dynamicStatement } from '../../../platform/database/statement.ts'
import { fromFor, matching } from '../assets/list-store.ts'
import type { Selection } from '../assets/selection.ts'
import { wasReadableAt } from '../visibility.ts'
import { changeKindParts, changeKindRows, fieldKinds, kindFields } from './change-kind-store.ts'

/**
 * The statement that aggregates the topology. Its parts are common table expressions:
 * - `entity`: the assets at a time, with the properties that are counted. Three variants select the current assets, the assets
 *   at an earlier time, and the assets that were removed in the compared time.
 * - `placed`: the key of the group of each asset, by hierarchy, subnet or switch.
 * - `checked`, `unchecked`: the monitored assets with and without a result.
 * - `member`: the assets with their keys. Assets of the parent group itself have the key `here`.
 * The rows of the result are the counts per group and product, the assets of the parent group, the edges, and the numbers of assets
 * per group and node.
 */

/** The key of the assets that belong to the parent group itself. */
export const hereKey = 'here'

export const cablePredicate = 'is_connected_to'

/** The subject of such a relation is a part of the object, or runs on it. It has the place of the object. */
const carrierPredicates = ['is_module_of', 'is_part_of', 'is_periphery_of', 'is_installed_on', 'is_running_on']

/** Relations of these predicates are not edges: they describe how an asset was found. */
const hiddenPredicates = ['found_by_gateway', 'found_by_asset_link']

/**
 * The times of a query. `at` is undefined for the current topology. Changes after `since` are counted. The operating mode of an asset that
 * was not reached after `evidenceSince` is only the last known value.
 */
export type Times = { at: string | undefined; since: string; evidenceSince: string }

/** The place of groups: the group of each node or switch. A subnet needs none, because its key is computed from addresses. */
export type Anchors = { ids: readonly string[]; keys: readonly string[] }

export type GroupQuery = {
  /** All readable assets. They determine the groups, even if a filter selects only some of them. */
  readable: Selection
  /** The assets that are counted. Its first parameters are those of `readable`. Undefined: all readable assets. */
  filtered: Selection | undefined
  times: Times
  by: Grouping
  anchors: Anchors
  /** All switches, for groups by switch. `readSwitches` finds them. */
  switches: readonly string[]
  /** Which assets are members: all, those in groups only, or those without a group only. */
  scope: 'all' | 'placed' | 'rest'
  /** The firmware versions that are outdated. They are compared with the current assets only. */
  outdatedVersions: readonly OutdatedVersion[]
  /** The monitored assets with and without a result. They are counted among the current assets only. */
  checkedAssets: readonly string[]
  uncheckedAssets: readonly string[]
  /** The nodes by which the assets of each group are counted, to find its place. */
  placeNodes?: readonly string[] | undefined
  /** Whether the changed assets are counted by kind of change. */
  hasChangeKinds?: boolean | undefined
  /** The subnet whose assets are members, with the length of its prefix. */
  subnet?: { key: string; bits: number } | undefined
}

export type GroupRow = {
  /**
   * For `change` and `changed`, `other` is the kind of change. The key of `changed` is the id of an asset. `self` is the switch of a
   * group. For `group`, `name` is the JSON text of the numbers of assets per product, see `ProductCount`. A row per product would be
   * half as many rows as assets in a plant with many groups.
   */
  kind: 'group' | 'self' | 'asset' | 'edge' | 'place' | 'change' | 'changed'
  key: string
  other: string | null
  name: string | null
  type: string | null
  family: string | null
  product: string | null
  tag: string | null
  management: (typeof managementStates)[number] | null
  reachability: (typeof reachabilityStates)[number] | null
  change: (typeof changeKinds)[number] | null
  count: number
  added: number
  changed: number
  /** The number of assets with their own IP address. It is counted for subnets only. */
  addressed: number
  /** The number of assets with outdated firmware. */
  outdated: number
  /** The number of assets in the operating mode `stop`. */
  stopped: number
  /** The number of these assets that were reached recently. */
  stopped_read: number
  /** The number of assets that the last check of a monitoring reached. */
  reachable: number
  /** The number of monitored assets without a result. */
  unchecked: number
}

/** `Parameters` numbers the parameters of a statement, after those of the selection. */
class Parameters {
  readonly values: unknown[]

  constructor(values: readonly unknown[]) {
    this.values = [...values]
  }

  add(value: unknown): string {
    this.values.push(value)
    return `$${this.values.length + 1}`
  }
}

/** Returns a common table expression, which is computed once. */
function part(name: string, query: string): string {
  return `${name} as materialized (${query})`
}

type Variant = 'current' | 'past' | 'removed'

/** Reads the counts, assets and edges of one group. */
export function readGroups(handle: Handle, query: GroupQuery): Promise<GroupRow[]> {
  return readVariant(handle, query, query.times.at === undefined ? 'current' : 'past')
}

/** Reads the counts, assets and edges of the assets that existed at `since` and were deleted until `at`. */
export function readRemoved(handle: Handle, query: GroupQuery): Promise<GroupRow[]> {
  if (query.filtered !== undefined) return Promise.resolve([])
  return readVariant(handle, { ...query, placeNodes: undefined, hasChangeKinds: false }, 'removed')
}

function readVariant(handle: Handle, query: GroupQuery, variant: Variant): Promise<GroupRow[]> {
  const parameters = new Parameters(variant === 'removed' ? [] : (query.filtered ?? query.readable).values)
  const relations = relationsOf(query, variant, parameters)
  const parts = [
    ...entityOf(query, variant, parameters),
    ...placedBy(query, { relations, variant, parameters }),
    ...checkedOf(query, variant, parameters),
    ...memberOf(query),
    part(
      'listed',
      `select m.* from member m where m.key = '${hereKey}'
       order by m.name, m.id limit ${inventoryLimits.topologyGroupAssets + 1}`,
    ),
    part(
      'spot',
      `select m.id, m.key from member m where m.key <> '${hereKey}'
       union all select l.id, l.id::text from listed l`,
    ),
  ]
  const hasKinds = query.hasChangeKinds === true && variant !== 'removed'
  if (hasKinds) parts.push(...kindPartsOf(query, parameters))
  const rows = [
    rowsOf(relations, parameters),
    ...(query.by === 'switch' && variant !== 'removed'
      ? [selfRows(parameters.add(arrayOf('uuid', query.anchors.ids)))]
      : []),
    ...placesOf(query, relations, parameters),
    ...(hasKinds ? changeKindRows : []),
  ]
  const text = `with ${parts.join(', ')} ${rows.join(' union all ')}`
  return handle.rows(dynamicStatement<GroupRow>(text), ...parameters.values)
}

/**
 * Reads all assets with the keys of their groups (`other`), and the relations between them. Each node or switch of the anchors
 * is its own group.
 */
export function readAllAssets(handle: Handle, query: GroupQuery): Promise<GroupRow[]> {
  const variant = query.times.at === undefined ? 'current' : 'past'
  const parameters = new Parameters((query.filtered ?? query.readable).values)
  const relations = relationsOf(query, variant, parameters)
  const parts = [
    ...entityOf(query, variant, parameters),
    ...placedBy(query, { relations, variant, parameters }),
    ...checkedOf(query, variant, parameters),
    ...memberOf(query),
    part('listed', `select m.* from member m order by m.name, m.id limit ${inventoryLimits.topologyNodes + 1}`),
  ]
  const hidden = `${parameters.add(hiddenPredicates)}::text[]`
  const text = `with ${parts.join(', ')}
    select 'asset' as kind, l.id::text as key, l.key as other, l.name, l.type, l.family, l.product, l.tag, l.management,
      l.reachability, l.change, 1 as count, 0 as added, 0 as changed, (l.address is not null)::integer as addressed, l.outdated::integer as outdated,
      ${isReachable('l')}::integer as reachable, ${isUnchecked('l')}::integer as unchecked, ${isStopped('l')}::integer as stopped,
      ${isStoppedRead('l')}::integer as stopped_read
    from listed l
    union all
    (select 'edge', s.id::text, o.id::text, r.predicate, null, null, null, null, null, null, null, 1, 0, 0, 0, 0, 0, 0, 0, 0
     from ${relations} join listed s on s.id = r.subject_id join listed o on o.id = r.object_id
     where r.subject_type = 'asset' and r.object_type = 'asset' and s.id <> o.id and r.predicate <> all(${hidden})
     limit ${inventoryLimits.topologyNodes * 4})`
  return handle.rows(dynamicStatement<GroupRow>(text), ...parameters.values)
}

/** Returns the counts, the assets and the edges as one result, so that the parts are computed once. */
function rowsOf(relations: string, parameters: Parameters): string {
  const hidden = `${parameters.add(hiddenPredicates)}::text[]`
  return `select 'group' as kind, m.key, null::text as other,
      json_agg(json_build_array(m.family, m.product, m.tag, m.count))::text as name, m.type, null::text as family,
      null::text as product, null::text as tag, null::text as management, m.reachability, null::text as change,
      sum(m.count)::integer as count, sum(m.added)::integer as added, sum(m.changed)::integer as changed,
      sum(m.addressed)::integer as addressed, sum(m.outdated)::integer as outdated, sum(m.reachable)::integer as reachable,
      sum(m.unchecked)::integer as unchecked, sum(m.stopped)::integer as stopped, sum(m.stopped_read)::integer as stopped_read
    from (select m.key, m.type, m.family, m.product, m.tag, m.reachability, count(*) as count,
        count(*) filter (where m.change = 'added') as added,
        count(*) filter (where m.change = 'changed') as changed,
        count(m.address) as addressed, count(*) filter (where m.outdated) as outdated,
        count(*) filter (where ${isReachable('m')}) as reachable,
        count(*) filter (where ${isUnchecked('m')}) as unchecked,
        count(*) filter (where ${isStopped('m')}) as stopped,
        count(*) filter (where ${isStoppedRead('m')}) as stopped_read
      from member m group by m.key, m.type, m.family, m.product, m.tag, m.reachability) as m
    group by m.key, m.type, m.reachability
    union all
    select 'asset', l.id::text, null, l.name, l.type, l.family, l.product, l.tag, l.management, l.reachability, l.change, 1, 0, 0,
      (l.address is not null)::integer, l.outdated::integer, ${isReachable('l')}::integer, ${isUnchecked('l')}::integer,
      ${isStopped('l')}::integer, ${isStoppedRead('l')}::integer
    from listed l
    union all
    (select 'edge', s.key, o.key, r.predicate, null, null, null, null, null, null, null, count(*)::integer, 0, 0, 0, 0, 0, 0, 0, 0
     from ${relations} join spot s on s.id = r.subject_id join spot o on o.id = r.object_id
     where r.subject_type = 'asset' and r.object_type = 'asset' and s.key <> o.key and r.predicate <> all(${hidden})
     group by s.key, o.key, r.predicate order by count(*) desc, s.key, o.key limit ${inventoryLimits.topologyEdges + 1})`
}

function kindPartsOf({ readable, times }: GroupQuery, parameters: Parameters): string[] {
  const options = {
    since: `${parameters.add(times.since)}::timestamptz`,
    until: times.at === undefined ? undefined : `${parameters.add(times.at)}::timestamptz`,
    groups: parameters.add(readable.groups),
    fields: `${parameters.add(arrayOf('text', kindFields))}::text[]`,
    kinds: `${parameters.add(arrayOf('text', fieldKinds))}::text[]`,
    cable: `'${cablePredicate}'`,
  }
  return changeKindParts(options).map(([name, query]) => part(name, query))
}

/** Returns whether the last check of a monitoring reached an asset. */
const isReachable = (member: string) => `(${member}.checked and ${member}.reachability = 'reached')`

/** Returns whether an asset is monitored without a result. */
const isUnchecked = (member: string) => `(${member}.unchecked and ${member}.reachability is distinct from 'failed')`

/** Returns whether an asset is in the operating mode `stop`. The assets are counted like with the filter on this property. */
const isStopped = (member: string) => `coalesce(${member}.mode = 'stop', false)`

/** Returns whether an asset is in the operating mode `stop`, and was reached recently. */
const isStoppedRead = (member: string) => `coalesce(${member}.stopped_read, false)`

/** Selects the switch of each group. */
const selfRows = (
  switches: string,
) => `select 'self', m.key, null, m.name, m.type, m.family, m.product, m.tag, m.management, m.reachability, m.change, 1, 0, 0,
    (m.address is not null)::integer, m.outdated::integer, ${isReachable('m')}::integer, ${isUnchecked('m')}::integer,
    ${isStopped('m')}::integer, ${isStoppedRead('m')}::integer
  from member m where m.id = any(${switches}::uuid[]) and m.id::text = m.key`

/** Selects the numbers of assets per group and node. */
function placesOf({ placeNodes }: GroupQuery, relations: string, parameters: Parameters): string[] {
  if (placeNodes === undefined || placeNodes.length === 0) return []
  return [
    `select 'place', m.key, r.object_id::text, null, null, null, null, null, null, null, null, count(*)::integer, 0, 0, 0, 0, 0, 0, 0, 0
     from member m join ${relations} on r.subject_id = m.id
     join unnest(${parameters.add(arrayOf('uuid', placeNodes))}::uuid[]) as n (id) on n.id = r.object_id
     where m.key <> '${hereKey}' and r.subject_type = 'asset' and r.predicate = '${assignmentPredicate}' and r.object_type = 'node'
     group by m.key, r.object_id`,
  ]
}

/** Returns the relations of the time of the variant, with the alias `r`. */
function relationsOf({ times }: GroupQuery, variant: Variant, parameters: Parameters): string {
  if (variant === 'current')
    return `(select r.subject_type, r.subject_id, r.predicate, r.object_type, r.object_id
      from relations r where r.tenant_id = $1) as r`
  const at = `${parameters.add(variant === 'removed' ? times.since : times.at)}::timestamptz`
  return `(select r.subject_type, r.subject_id, r.predicate, r.object_type, r.object_id
      from relations r where r.tenant_id = $1 and r.created_at <= ${at}
      union all
      select r.subject_type, r.subject_id, r.predicate, r.object_type, r.object_id
      from ended_relations r where r.tenant_id = $1 and r.created_at <= ${at} and r.ended_at > ${at}) as r`
}

/** The end of a name, from which the class of the asset is derived. */
const tagOf = (name: string) => `right(rtrim(${name}, '0123456789-_. '), ${tagLength})`

/** Selects one IP address of each asset. It is joined, because a subquery for each asset takes several times as long. */
const ownAddresses = part(
  'own_address',
  `select d.asset_id as id, min(d.kind || ' ' || d.address) as address from asset_addresses d
   where d.tenant_id = $1 and d.kind in ('ipv4', 'ipv6') group by d.asset_id`,
)

const addressesOfDocument = `(select min(case when p ->> 'ipv4_address' is null then 'ipv6 ' || (p ->> 'ipv6_address')
    else 'ipv4 ' || (p ->> 'ipv4_address') end)
  from json_array_elements(case when json_typeof(h.document -> 'connection_points') = 'array'
    then h.document -> 'connection_points' else '[]'::json end) as p)`

type EntityContext = { by: Grouping; evidenceSince: string; outdated: string }

/** The columns of an asset that are counted, from its row and from a stored state. */
type EntityColumns = { stored: string; ofState: (id: string) => string }

/** The switches are determined by the relations alone. Reading all columns of all assets for them takes twice as long. */
const nameColumns: EntityColumns = {
  stored: 'a.id, a.name',
  ofState: namesOfState,
}

function namesOfState(id: string): string {
  return `${id} as id, h.document ->> 'name' as name`
}

const storedColumns = ({
  by,
  evidenceSince,
  outdated,
}: EntityContext) => `a.id, a.name, a.type, a.product_family as family, a.product_name as product,
  ${tagOf('a.name')} as tag, a.management_state as management, a.reachability_state as reachability,
  a.operating_mode as mode,
  a.operating_mode = 'stop' and a.reachability_state = 'reached' and a.reachability_state_at >= ${evidenceSince} as stopped_read,
  ${by === 'subnet' ? 'w.address' : 'null::text'} as address, ${outdated} as outdated`

const reachabilityOfDocument = `h.document #>> '{reachability_state,state_value}'`
const modeOfDocument = `h.document #>> '{operating_mode,mode_name}'`

const isStopReadInDocument = (evidenceSince: string) =>
  [
    `${modeOfDocument} = 'stop'`,
    `${reachabilityOfDocument} = 'reached'`,
    `(h.document #>> '{reachability_state,state_timestamp}')::timestamptz >= ${evidenceSince}`,
  ].join(' and ')

const documentColumns = (id: string, { by, evidenceSince }: Omit<EntityContext, 'outdated'>) => `${namesOfState(id)},
  h.document ->> 'functional_object_type' as type,
  h.document #>> '{product_instance_information,manufacturer_product,product_family}' as family,
  h.document #>> '{product_instance_information,manufacturer_product,product_name}' as product,
  ${tagOf(`h.document ->> 'name'`)} as tag,
  coalesce(h.document #>> '{management_state,state_value}', 'unknown') as management,
  coalesce(${reachabilityOfDocument}, 'unknown') as reachability,
  ${modeOfDocument} as mode, ${isStopReadInDocument(evidenceSince)} as stopped_read,
  ${by === 'subnet' ? addressesOfDocument : 'null::text'} as address, false as outdated`

/** Selects the last stored state of an asset until a time. */
const stateAt = (id: string, time: string) => `cross join lateral (select e.document, e.time, e.change
    from asset_history e where e.tenant_id = $1 and e.asset_id = ${id} and e.time <= ${time}
    order by e.time desc, e.version desc limit 1) as h`

/** Joins the versions of outdated firmware. The equal texts of manufacturers and versions are compared with a hash. */
function outdatedJoin(versions: readonly OutdatedVersion[], parameters: Parameters): string {
  const texts = (of: (version: OutdatedVersion) => string | undefined) => {
    const values = versions.map((version) => of(version) ?? null)
    return `${parameters.add(arrayOf('text', values))}::text[]`
  }
  const columns = [
    texts(({ manufacturer }) => manufacturer),
    texts(({ productId }) => productId),
    texts(({ productName }) => productName),
    texts(({ firmwareVersion }) => firmwareVersion),
  ]
  return `left join unnest(${columns.join(', ')}) as v (manufacturer, product_id, product_name, firmware_version)
    on v.manufacturer = a.manufacturer and v.firmware_version = a.firmware_version
      and v.product_id is not distinct from a.product_id and v.product_name is not distinct from a.product_name
      and a.type is distinct from 'SoftwareArtifact'`
}

/** Selects the assets with all columns that are counted. */
function entityOf(query: GroupQuery, variant: Variant, parameters: Parameters): string[] {
  const { by, times } = query
  const versions = variant === 'current' ? query.outdatedVersions : []
  const context = {
    by,
    evidenceSince: `${parameters.add(times.evidenceSince)}::timestamptz`,
    outdated: versions.length === 0 ? 'false' : 'v.firmware_version is not null',
  }
  const columns = { stored: storedColumns(context), ofState: (id: string) => documentColumns(id, context) }
  const addressJoin = by === 'subnet' ? 'left join own_address w on w.id = a.id' : ''
  const versionJoin = versions.length === 0 ? '' : outdatedJoin(versions, parameters)
  const entity = entityWith(columns, query, { variant, parameters, joins: `${addressJoin} ${versionJoin}` })
  return by === 'subnet' ? [ownAddresses, ...entity] : entity
}

type EntitySource = { variant: Variant; parameters: Parameters; joins: string }

function entityWith(columns: EntityColumns, { readable, times }: GroupQuery, source: EntitySource): string[] {
  const { variant, parameters, joins } = source
  const since = `${parameters.add(times.since)}::timestamptz`
  const fromSelected = `from ${fromFor(readable.where)} ${joins} where ${matching(readable)}`
  const change = `case when a.created_at > ${since} then 'added' when a.modified_at > ${since} then 'changed' end as change`
  if (variant === 'current') return [part('entity', `select ${columns.stored}, ${change} ${fromSelected}`)]
  const groups = `${parameters.add(readable.groups)}`
  if (variant === 'removed') {
    const until = `${parameters.add(times.at ?? null)}::timestamptz`
    return [
      part(
        'deleted',
        `select distinct d.asset_id as id from asset_history d
         where d.tenant_id = $1 and d.change = 'deleted' and d.time > ${since} and (${until} is null or d.time <= ${until})
         limit ${inventoryLimits.topologyRemovedAssets}`,
      ),
      part(
        'entity',
        `select ${columns.ofState('d.id')}, 'removed' as change
         from deleted d ${stateAt('d.id', since)}
         where h.document is not null and h.change <> 'deleted' and ${wasReadableAt('d.id', `${groups}::uuid[]`, since)}
           and not exists (select from assets b where b.tenant_id = $1 and b.id = d.id)`,
      ),
    ]
  }
  const at = `${parameters.add(times.at)}::timestamptz`
  return [
    part(
      'touched',
      `select distinct h.asset_id as id from asset_history h
       where h.tenant_id = $1 and h.time > ${at}`,
    ),
    part(
      'entity',
      `select ${columns.stored}, ${change} ${fromSelected}
         and a.created_at <= ${at} and not exists (select from touched t where t.id = a.id)
       union all
       select ${columns.ofState('t.id')},
         case when h.time <= ${since} then null when exists (select from asset_history c where c.tenant_id = $1
             and c.asset_id = t.id and c.change = 'created' and c.time > ${since} and c.time <= ${at}) then 'added'
           else 'changed' end as change
       from touched t ${stateAt('t.id', at)}
       where h.document is not null and h.change <> 'deleted' and ${wasReadableAt('t.id', `${groups}::uuid[]`, at)}`,
    ),
  ]
}

function checkedOf(query: GroupQuery, variant: Variant, parameters: Parameters): string[] {
  const ids = (name: string, assets: readonly string[]) =>
    variant === 'current'
      ? part(name, `select unnest(${parameters.add(arrayOf('uuid', assets))}::uuid[]) as id`)
      : part(name, 'select null::uuid as id where false')
  return [ids('checked', query.checkedAssets), ids('unchecked', query.uncheckedAssets)]
}

function memberOf({ scope, filtered }: GroupQuery): string[] {
  const isCounted = filtered === undefined ? 'true' : 'e.id in (select c.id from counted c)'
  const states = `e.id in (select h.id from checked h) as checked,
    e.id in (select u.id from unchecked u) as unchecked`
  const join = scope === 'all' ? 'left join' : 'join'
  const member =
    scope === 'rest'
      ? `select e.*, '${hereKey}' as key, ${states} from entity e
         where not exists (select from placed p where p.id = e.id) and ${isCounted}`
      : `select e.*, coalesce(p.key, '${restKey}') as key, ${states}
         from entity e ${join} placed p on p.id = e.id where ${isCounted}`
  if (filtered === undefined) return [part('member', member)]
  return [
    part('counted', `select a.id from ${fromFor(filtered.where)} where ${matching(filtered)}`),
    part('member', member),
  ]
}

type Source = { relations: string; variant: Variant; parameters: Parameters }

function placedBy(query: GroupQuery, { relations, variant, parameters }: Source): string[] {
  if (query.by === 'subnet') return placedBySubnet(query, relations, parameters)
  const { ids, keys } = query.anchors
  const anchor = part(
    'anchor',
    `select n.id, n.key
    from unnest(${parameters.add(arrayOf('uuid', ids))}::uuid[], ${parameters.add(arrayOf('text', keys))}::text[]) as n (id, key)`,
  )
  if (query.by === 'hierarchy')
    return [
      anchor,
      part(
        'placed',
        `select r.subject_id as id, max(n.key) as key from ${relations}
         join anchor n on n.id = r.object_id
         where r.subject_type = 'asset' and r.predicate = '${assignmentPredicate}' and r.object_type = 'node'
         group by r.subject_id`,
      ),
    ]
  const carriers = `r.predicate = any(${parameters.add(carrierPredicates)}::text[])`
  const areAssets = `r.subject_type = 'asset' and r.object_type = 'asset'`
  if (variant === 'removed')
    return [
      anchor,
      part(
        'placed',
        `select x.id, max(n.key) as key
         from (select r.subject_id as id, r.object_id as other from ${relations}
                 where ${areAssets} and (r.predicate = '${cablePredicate}' or ${carriers})
               union all
               select r.object_id, r.subject_id from ${relations}
                 where ${areAssets} and r.predicate = '${cablePredicate}') as x
         join anchor n on n.id = x.other group by x.id`,
      ),
    ]
  return [
    anchor,
    part('hub', `select unnest(${parameters.add(arrayOf('uuid', query.switches))}::uuid[]) as id`),
    ...cableParts(relations, { isDistinct: false }),
    // An asset with connections to several switches belongs to the first of them by id.
    part(
      'owner',
      `select h.id, h.id as owner from hub h
       union all
       (select distinct on (x.id) x.id, x.owner
        from (select case when a.id is null then p.one else p.two end as id, coalesce(a.id, b.id) as owner
              from pair p left join hub a on a.id = p.one left join hub b on b.id = p.two
              where (a.id is null) <> (b.id is null)) as x
        order by x.id, x.owner)`,
    ),
    part(
      'above',
      `select c.id, c.other from cable c
         where not exists (select from owner o where o.id = c.id)
       union all
       select r.subject_id, r.object_id from ${relations}
         where ${areAssets} and ${carriers} and not exists (select from owner o where o.id = r.subject_id)`,
    ),
    // Assets without a switch have the switch of the assets that they are connected to, or that they are a part of.
    part(
      'owner2',
      `select distinct on (w.id) w.id, k.owner from above w join owner k on k.id = w.other order by w.id, k.owner`,
    ),
    part(
      'owner3',
      `select distinct on (w.id) w.id, k.owner from above w join owner2 k on k.id = w.other
       where not exists (select from owner2 o where o.id = w.id) order by w.id, k.owner`,
    ),
    part(
      'placed',
      `select o.id, n.key
       from (select * from owner union all select * from owner2 union all select * from owner3) as o
       join anchor n on n.id = o.owner`,
    ),
  ]
}

/**
 * The connections of readable assets in both directions. If they are not distinct, a connection that is stored in both
 * directions occurs twice.
 */
function cableParts(relations: string, { isDistinct }: { isDistinct: boolean }): string[] {
  const ends = isDistinct
    ? 'distinct least(r.subject_id, r.object_id) as one, greatest(r.subject_id, r.object_id) as two'
    : 'r.subject_id as one, r.object_id as two'
  return [
    part(
      'pair',
      `select ${ends}
       from ${relations} join entity e on e.id = r.subject_id join entity f on f.id = r.object_id
       where r.subject_type = 'asset' and r.object_type = 'asset' and r.predicate = '${cablePredicate}'
         and r.subject_id <> r.object_id`,
    ),
    part('cable', `select one as id, two as other from pair union all select two, one from pair`),
  ]
}

export type SwitchRow = { id: string; other: string | null; name: string | null; connections: number }

/** Reads the switches: the assets with many connections. The connections between them are rows with `other`. */
export function readSwitches(handle: Handle, query: GroupQuery): Promise<SwitchRow[]> {
  const variant = query.times.at === undefined ? 'current' : 'past'
  const parameters = new Parameters(query.readable.values)
  const relations = relationsOf(query, variant, parameters)
  const parts = [
    ...entityWith(nameColumns, query, { variant, parameters, joins: '' }),
    ...cableParts(relations, { isDistinct: true }),
    part(
      'hub',
      `select c.id, count(*)::integer as connections from cable c group by c.id
       having count(*) >= ${inventoryLimits.switchConnections}`,
    ),
  ]
  const text = `with ${parts.join(', ')}
    select h.id, null::uuid as other, e.name, h.connections from hub h join entity e on e.id = h.id
    union all
    select p.one, p.two, null, 0 from pair p join hub h on h.id = p.one join hub k on k.id = p.two`
  return handle.rows(dynamicStatement<SwitchRow>(text), ...parameters.values)
}

/** The length of the prefix of the smallest IPv4 subnets. */
export const subnetBits = 24

/**
 * The subnets of an address text such as `ipv4 10.0.3.7`, by the length of the prefix. IPv6 subnets always have 64 bits. An
 * IPv4 address is not matched with a pattern, because that takes several times as long.
 */
const subnetOf = (address: string, bits: number) => {
  const ipv4Bits = Math.min(bits, subnetBits)
  const numbers = ipv4Bits / 8
  const isIpv4 = `translate(${address}, '0123456789', '') = 'ipv ...' and ${address} not like '%..%'`
  const parts = Array.from({ length: numbers }, (_, index) => `split_part(substr(${address}, 6), '.', ${index + 1})`)
  const start = numbers === 3 ? `rtrim(substr(${address}, 6), '0123456789')` : `${parts.join(" || '.' || ")} || '.'`
  const ipv4 = `${start} || '${Array.from({ length: 4 - numbers }, () => '0').join('.')}/${ipv4Bits}'`
  const ipv6 = `coalesce(substring(${address} from '^ipv6 ([0-9a-f]+:[0-9a-f]+:[0-9a-f]+:[0-9a-f]+):'),
    substring(${address} from '^ipv6 ([0-9a-f:]*?)::')) || '::/64'`
  return `case when ${isIpv4} then ${ipv4} when ${address} like 'ipv6 %' then ${ipv6} end`
}

function placedBySubnet({ subnet }: GroupQuery, relations: string, parameters: Parameters): string[] {
  const parent = subnet === undefined ? undefined : `${parameters.add(subnet.key)}::text`
  const isInside = subnet === undefined ? 'true' : `${subnetOf('w.address', subnet.bits)} = ${parent}`
  const isSmallest = subnet !== undefined && subnet.bits >= subnetBits
  const key = isSmallest ? `'${hereKey}'::text` : 'w.subnet'
  // Without the offset, the database would compute the subnet of each asset twice.
  const withSubnet = (source: string) =>
    `(select x.id, x.address, ${subnetOf('x.address', subnetBits)} as subnet from ${source} as x offset 0)`
  return [
    part('addressed', `select s.* from ${withSubnet('entity')} as s where s.subnet is not null`),
    // Assets without an address have the address of the asset that they are a part of, or that they run on.
    part(
      'carried',
      `select r.subject_id as id, min(k.address) as address from ${relations}
       join addressed k on k.id = r.object_id
       where r.subject_type = 'asset' and r.object_type = 'asset'
         and r.predicate = any(${parameters.add(carrierPredicates)}::text[])
         and not exists (select from addressed j where j.id = r.subject_id) group by r.subject_id`,
    ),
    part(
      'placed',
      `select w.id, ${key} as key
       from (select * from addressed union all select * from ${withSubnet('carried')} as c) as w where ${isInside}`,
    ),
  ]
}
