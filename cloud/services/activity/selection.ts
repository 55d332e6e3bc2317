import {
  type ActivityKind,
  type AssetKind,
  type AuditKindName,
  activityLimits,
  assetActions,
  assetActivity,
  auditActivity,
  backgroundActions,
} from '@millwright/api/activity.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { groupsWith, may } from '../../platform/access/rights.ts'

export type Filters = {
  from?: string
  to?: string
  person?: string
  asset?: string
  object?: string
  node?: string
  kind?: ActivityKind
  all?: boolean
}

const dayMs = 86_400_000
const defaultDays = 7

export type Range = { from: string; to: string }

/** Returns the time range of a query. */
export function rangeOf({ from, to }: Pick<Filters, 'from' | 'to'>, now = Date.now()): Range {
  const end = to === undefined ? now + 1 : millisecondsOf(to, 'to')
  const start = from === undefined ? Math.max(0, end - defaultDays * dayMs) : millisecondsOf(from, 'from')
  if (end - start > activityLimits.rangeDays * dayMs)
    throw invalid('from', `The time range has more than ${activityLimits.rangeDays} days. Choose a later start`)
  return { from: new Date(start).toISOString(), to: new Date(Math.max(start, end)).toISOString() }
}

function millisecondsOf(time: string, parameter: string): number {
  const milliseconds = Date.parse(time)
  if (Number.isNaN(milliseconds)) throw invalid(parameter, `${time} is not a valid timestamp`)
  return milliseconds
}

function invalid(parameter: string, detail: string): Problem {
  return new Problem('invalid_query', detail, { errors: [{ pointer: `/${parameter}`, code: 'invalid', detail }] })
}

/** The changes of assets that a query selects. Undefined if it selects none, or if the caller can read no asset. */
export function changesSelected(filters: Filters, range: Range, caller: Caller) {
  const { person, asset, node, kind } = filters
  if (filters.object !== undefined || (kind !== undefined && !isAssetKind(kind))) return undefined
  const groups = groupsWith(caller, 'inventory_read_asset_data')
  if (groups !== 'all' && [...groups].length === 0 && !may(caller, 'glb_inventory_read_gateway_data')) return undefined
  return {
    ...range,
    ...(person === undefined ? {} : { principal: person }),
    ...(asset === undefined ? {} : { assetId: asset }),
    ...(node === undefined ? {} : { hierarchyNode: node }),
    ...(kind === undefined ? {} : assetActivity[kind]),
  }
}

/** The audit entries that a query selects. Undefined if it selects none, or if the caller cannot read the audit trail. */
export function auditSelected(filters: Filters, range: Range, caller: Caller) {
  const { person, asset, node, kind, all = false } = filters
  const target = filters.object ?? (asset === undefined ? undefined : `asset/${asset}`)
  if (!may(caller, 'glb_audit_read') || node !== undefined || (kind !== undefined && isAssetKind(kind)))
    return undefined
  const selected = kind === undefined || kind === 'refused' ? undefined : auditActivity[kind satisfies AuditKindName]
  const without = selected !== undefined && 'without' in selected ? selected.without : []
  return {
    ...range,
    ...(person === undefined ? {} : { principal: person }),
    ...(target === undefined ? {} : { target }),
    ...(kind === 'refused' ? { outcomes: ['denied', 'failed'] as ('denied' | 'failed')[] } : {}),
    ...(selected === undefined ? {} : { services: [...selected.services], actions: [...selected.actions] }),
    withoutActions: [...without, ...(all ? [] : backgroundActions)],
    withoutDone: [...assetActions],
    withoutAssigned: !all,
  }
}

function isAssetKind(kind: ActivityKind): kind is AssetKind {
  return Object.hasOwn(assetActivity, kind)
}
