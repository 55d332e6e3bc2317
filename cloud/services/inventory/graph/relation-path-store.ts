import type { Entity } from '@millwright/api/inventory.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { dynamicStatement } from '../../../platform/database/statement.ts'
import type { Side } from '../relations/relation-store.ts'
import { type Groups, isReadable } from '../visibility.ts'

/** A condition on `relations r`; its parameters are numbered from the one that is given. */
export type Followed = (firstParameter: number) => { sql: string; values: readonly unknown[] }

type Step = {
  /** The end that is come to. */
  side: Side
  condition: Followed
  groups: Groups
  limit: number
}

/** The things at the far ends of relations that fulfil a condition and whose ends both may be seen. */
export async function findEnds(handle: Handle, { side, condition, groups, limit }: Step): Promise<Entity[]> {
  const near = otherOf(side)
  const { sql, values } = condition(4)
  const ends = dynamicStatement<Entity>(
    `select r.${side}_type as type, r.${side}_id as id from relations r
     where r.tenant_id = $1 and (${sql}) and ${seen(near)} and ${seen(side)} limit $3`,
  )
  return handle.rows(ends, groups, limit, ...values)
}

/** The same from some things on. That these may be seen was looked at when they were come to. */
export async function findFurther(
  handle: Handle,
  frontier: readonly Entity[],
  { side, condition, groups, limit }: Step,
): Promise<Entity[]> {
  const near = otherOf(side)
  const { sql, values } = condition(6)
  const further = dynamicStatement<Entity>(
    `select r.${side}_type as type, r.${side}_id as id from unnest($4::text[], $5::uuid[]) as f (type, id)
     join relations r on r.tenant_id = $1 and r.${near}_id = f.id and r.${near}_type = f.type
     where (${sql}) and ${seen(side)} limit $3`,
  )
  const types = frontier.map(({ type }) => type)
  const ids = frontier.map(({ id }) => id)
  return handle.rows(further, groups, limit, types, ids, ...values)
}

function otherOf(side: Side): Side {
  return side === 'subject' ? 'object' : 'subject'
}

function seen(side: Side): string {
  return `(r.${side}_type = 'node' or ${isReadable(`r.${side}_id`, '$2')})`
}
