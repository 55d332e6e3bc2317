import type { AuditEntry } from '@millwright/api/audit.ts'
import type { Handle } from '../../platform/database/database.ts'
import { lowestIdAt } from '../../platform/database/id.ts'
import { dynamicStatement } from '../../platform/database/statement.ts'
import { entryColumns } from './store.ts'

/** The entries that the activity service shows. */
export type ActivitySelection = {
  from: string
  to: string
  principal?: string
  target?: string
  outcomes?: readonly AuditEntry['outcome'][]
  /** Only the actions of these contracts, and those in `actions`. */
  services?: readonly string[]
  actions?: readonly string[]
  withoutActions: readonly string[]
  /** The actions that are left out if they succeeded. */
  withoutDone: readonly string[]
  /** Leaves out the relations that assignments to hierarchy nodes create and delete. */
  withoutAssigned: boolean
}

/**
 * Selects an entry `e` of a relation that an assignment to a hierarchy node has created or deleted. The entry of a relation that
 * a caller wrote has an outcome in its details.
 */
const isAssigned = `(e.action in ('inventory.createRelation', 'inventory.deleteRelations')
  and e.detail->'object'->>'type' = 'node' and e.detail->'outcome' is null)`

/** Returns the conditions on an entry `e`. Their parameters start at `$2`. The time range is a range of ids. */
function conditionsOf(selection: ActivitySelection, before?: string) {
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value) + 1}`
  const { from, to, principal, target, outcomes, services, actions, withoutActions, withoutDone, withoutAssigned } =
    selection
  const parts = [
    'e.tenant_id = $1',
    `e.id >= ${parameter(lowestIdAt(Date.parse(from)))}`,
    `e.id < ${parameter(lowestIdAt(Date.parse(to)))}`,
  ]
  if (before !== undefined) parts.push(`e.id < ${parameter(before)}`)
  if (principal !== undefined) parts.push(`e.principal_id = ${parameter(principal)}`)
  if (target !== undefined) parts.push(`e.target = ${parameter(target)}`)
  if (outcomes !== undefined) parts.push(`e.outcome = any(${parameter(outcomes)}::text[])`)
  if (services !== undefined || actions !== undefined) {
    const contract = `split_part(e.action, '.', 1) = any(${parameter(services ?? [])}::text[])`
    parts.push(`(${contract} or e.action = any(${parameter(actions ?? [])}::text[]))`)
  }
  if (withoutActions.length > 0) parts.push(`e.action <> all(${parameter(withoutActions)}::text[])`)
  if (withoutDone.length > 0) parts.push(`(e.outcome <> 'done' or e.action <> all(${parameter(withoutDone)}::text[]))`)
  if (withoutAssigned) parts.push(`${isAssigned} is not true`)
  return { where: parts.join(' and '), values }
}

/** Returns the next entries, newest first. `before` is the id of the last entry of the previous page. */
export function listActivity(
  handle: Handle,
  selection: ActivitySelection,
  { before, limit }: { before?: string; limit: number },
): Promise<AuditEntry[]> {
  const { where, values } = conditionsOf(selection, before)
  return handle.rows(
    dynamicStatement<AuditEntry>(
      `select ${entryColumns} from audit_entries e where ${where} order by e.id desc limit ${limit}`,
    ),
    ...values,
  )
}

/** Counts the entries per time span. The first span starts at the start of the selection. Empty spans are left out. */
export function countActivity(handle: Handle, selection: ActivitySelection, bucketSeconds: number) {
  const { where, values } = conditionsOf(selection)
  return handle.rows(
    dynamicStatement<{ time: string; count: number }>(
      `select date_bin(make_interval(secs => ${bucketSeconds}), e.time, $${values.push(selection.from) + 1}) as time,
              count(*) as count
       from audit_entries e where ${where} group by 1 order by 1`,
    ),
    ...values,
  )
}

/** Returns the principals with the most entries. */
export function listActors(handle: Handle, selection: ActivitySelection, limit: number) {
  const { where, values } = conditionsOf(selection)
  return handle.rows(
    dynamicStatement<{ id: string; name: string; count: number }>(
      `select e.principal_id as id, max(e.principal_name) as name, count(*) as count
       from audit_entries e where ${where} and e.principal_id is not null group by 1 order by 3 desc, 1 limit ${limit}`,
    ),
    ...values,
  )
}
