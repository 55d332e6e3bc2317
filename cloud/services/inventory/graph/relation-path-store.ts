import type { Entity } from '@millwright/api/inventory/inventory.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { dynamicStatement } from '../../../platform/database/statement.ts'
import type { Side } from '../relations/relation-store.ts'
import { type Groups, isReadable } from '../visibility.ts'

/** Builds a condition on `relations r` whose parameters are numbered from `firstParameter`. */
export type ConditionBuilder = (firstParameter: number) => { sql: string; values: readonly unknown[] }

type Step = {
  /** The end of a relation at which the step arrives. */
  side: Side
  condition: ConditionBuilder
  groups: Groups
  limit: number
}

/** Returns the entities at one end of the relations that match a condition. Both ends must be nodes or readable assets. */
export async function findEnds(handle: Handle, { side, condition, groups, limit }: Step): Promise<Entity[]> {
  const near = otherOf(side)
  const { sql, values } = condition(4)
  const ends = dynamicStatement<Entity>(
    `select r.${side}_type as type, r.${side}_id as id from relations r
     where r.tenant_id = $1 and (${sql}) and ${isVisible(near)} and ${isVisible(side)} limit $3`,
  )
  return handle.rows(ends, groups, limit, ...values)
}

/**
 * Returns the entities at the far end of the relations that start at the frontier and match a condition. The far end must
 * be a node or a readable asset. The entities of the frontier are already known to be visible.
 */
export async function findNextEnds(
  handle: Handle,
  frontier: readonly Entity[],
  { side, condition, groups, limit }: Step,
): Promise<Entity[]> {
  const near = otherOf(side)
  const { sql, values } = condition(6)
  const further = dynamicStatement<Entity>(
    `select r.${side}_type as type, r.${side}_id as id from unnest($4::text[], $5::uuid[]) as f (type, id)
     join relations r on r.tenant_id = $1 and r.${near}_id = f.id and r.${near}_type = f.type
     where (${sql}) and ${isVisible(side)} limit $3`,
  )
  const types = frontier.map(({ type }) => type)
  const ids = frontier.map(({ id }) => id)
  return handle.rows(further, groups, limit, types, ids, ...values)
}

function otherOf(side: Side): Side {
  return side === 'subject' ? 'object' : 'subject'
}

function isVisible(side: Side): string {
  return `(r.${side}_type = 'node' or ${isReadable(`r.${side}_id`, '$2')})`
}
