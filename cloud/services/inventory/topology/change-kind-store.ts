import type { ChangedKind } from '@millwright/api/inventory/topology-groups.ts'
import { isReadableVersion } from '../visibility.ts'

/**
 * The parts of the statement that aggregates the topology for the kinds of changes. They use the parts `entity`, `member` and `listed`,
 * and are computed only for a comparison, because they read the history of the compared time.
 */

/** The kind of the change of a field. Changes of the other fields have the kind `other`. */
const kindOfField: Readonly<Record<string, ChangedKind>> = {
  firmware: 'firmware',
  software_components: 'software',
  name: 'name',
  addresses: 'connection',
  connection_points: 'connection',
  management_state: 'state',
  reachability_state: 'state',
  trust_state: 'state',
  operating_mode: 'state',
}

type ChangeKindOptions = {
  /** The SQL parameters of the compared time. Without an end, it ends now. */
  since: string
  until: string | undefined
  /** The SQL parameters of the readable access groups, of the fields with a kind, of their kinds and of the predicate of connections. */
  groups: string
  fields: string
  kinds: string
  cable: string
}

export const kindFields = Object.keys(kindOfField)
export const fieldKinds = Object.values(kindOfField)

/** Returns the common table expressions by name. */
export function changeKindParts(options: ChangeKindOptions): [name: string, query: string][] {
  const { since, until, groups, fields, kinds, cable } = options
  const isWithin = (time: string) => `${time} > ${since}${until === undefined ? '' : ` and ${time} <= ${until}`}`
  const isCable = `r.tenant_id = $1 and r.predicate = ${cable} and r.subject_type = 'asset' and r.object_type = 'asset'`
  const endedWithin = `r.created_at <= ${since} and ${isWithin('r.ended_at')}`
  const startedWithin = until === undefined ? 'false' : `${isWithin('r.created_at')} and r.ended_at > ${until}`
  return [
    [
      'field_change',
      `select distinct h.asset_id as id, f.kind
       from asset_history h cross join lateral json_array_elements(h.changes) as c
       join unnest(${fields}, ${kinds}) as f (field, kind) on f.field = c ->> 'field'
       where h.tenant_id = $1 and h.change = 'updated' and ${isWithin('h.time')} and ${isReadableVersion('h', groups)}`,
    ],
    [
      'cable_change',
      `select r.subject_id, r.object_id from relations r
       join entity e on e.id = r.subject_id join entity f on f.id = r.object_id
       where ${isCable} and ${isWithin('r.created_at')}
       union all
       select r.subject_id, r.object_id from ended_relations r
       join entity e on e.id = r.subject_id join entity f on f.id = r.object_id
       where ${isCable} and ((${endedWithin}) or (${startedWithin}))`,
    ],
    [
      'kind_of',
      `select m.id, m.key, k.kind
       from (select c.id, c.kind from field_change c
             union select c.subject_id, 'connection' from cable_change c
             union select c.object_id, 'connection' from cable_change c) as k
       join member m on m.id = k.id where m.change is distinct from 'added'`,
    ],
  ]
}

/** The rows with the numbers of assets per group and kind (`change`), and with the kinds of each listed asset (`changed`). */
export const changeKindRows: readonly string[] = [
  `select 'change', k.key, k.kind, null, null, null, null, null, null, null, null, count(*)::integer, 0, 0, 0, 0, 0, 0, 0, 0
   from kind_of k group by k.key, k.kind`,
  `select 'change', m.key, 'other', null, null, null, null, null, null, null, null, count(*)::integer, 0, 0, 0, 0, 0, 0, 0, 0
   from member m where m.change = 'changed' and not exists (select from kind_of k where k.id = m.id) group by m.key`,
  `select 'changed', l.id::text, coalesce(k.kind, 'other'), null, null, null, null, null, null, null, null, 1, 0, 0, 0, 0, 0, 0, 0, 0
   from listed l left join kind_of k on k.id = l.id where k.kind is not null or l.change = 'changed'`,
]
