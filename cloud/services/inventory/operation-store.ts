import type { GrantedRole } from '../../platform/access/rights.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'

/** An accepted write as the applier gets it. */
export type QueuedOperation = {
  id: string
  kind: string
  payload: unknown
  principalId: string
  principalKind: string
  principalName: string
  roles: string[]
  /** Where each of the roles counts, if the token of the sender said so. */
  grants: GrantedRole[] | null
}

export type NewOperation = QueuedOperation & { items: number; requestId: string }

const insertStatement = statement(
  `insert into operations (tenant_id, id, accepted_at, kind, payload, items, principal_id, principal_kind, principal_name,
                           roles, grants, request_id, modified_at)
   select $1, id, clock_timestamp() + make_interval(secs => place * 0.000001), kind, payload, items, "principalId",
          "principalKind", "principalName", array(select json_array_elements_text(roles)), grants, "requestId", now()
   from json_to_recordset($2::json) as o (place integer, id uuid, kind text, payload json, items integer, "principalId" uuid,
     "principalKind" text, "principalName" text, roles json, grants json, "requestId" text)`,
)

/** In the order given, which is the order of acceptance. */
export async function insertOperations(tx: Transaction, operations: readonly NewOperation[]): Promise<void> {
  await tx.run(insertStatement, jsonText(operations.map((operation, place) => ({ place, ...operation }))))
}

const queueStatement = statement<{ id: string; items: number }>(
  `select id, items from operations where tenant_id = $1 and state = 'queued'
   order by accepted_at, id limit $2 for update`,
)

const payloadsStatement = statement<QueuedOperation>(
  `select id, kind, payload, principal_id as "principalId", principal_kind as "principalKind",
          principal_name as "principalName", roles, grants
   from operations where tenant_id = $1 and id = any($2) order by accepted_at, id`,
)

export type Batch = { operations: number; items: number }

/**
 * The oldest that wait, held until the end of the transaction: a second applier waits, and then finds them done. As many
 * as fit; one that is larger than a batch comes alone.
 */
export async function lockQueue(tx: Transaction, { operations, items }: Batch): Promise<QueuedOperation[]> {
  const waiting = await tx.rows(queueStatement, operations)
  let sum = 0
  const fitting = waiting.filter((operation, index) => {
    sum += operation.items
    return index === 0 || sum <= items
  })
  return fitting.length === 0
    ? []
    : tx.rows(
        payloadsStatement,
        fitting.map(({ id }) => id),
      )
}

export const anyQueued = statement(
  `select id from operations where tenant_id = $1 and state = 'queued' order by accepted_at, id limit 1`,
)

const lengthStatement = statement<{ length: number }>(
  `select count(*) as length from (select from operations where tenant_id = $1 and state = 'queued' limit $2) as queued`,
)

/** How many wait, as far as it matters. */
export async function queueLength(handle: Handle, limit: number): Promise<number> {
  return (await handle.row(lengthStatement, limit))?.length ?? 0
}

export type Outcome = { id: string; state: 'finished' | 'failed'; result: unknown }

const finishStatement = statement(
  `update operations o set state = f.state, result = f.result, modified_at = now()
   from json_to_recordset($2::json) as f (id uuid, state text, result json)
   where o.tenant_id = $1 and o.id = f.id and o.state = 'queued'`,
)

export async function finishOperations(tx: Transaction, outcomes: readonly Outcome[]): Promise<void> {
  if (outcomes.length > 0) await tx.run(finishStatement, jsonText(outcomes))
}

export type StatusRow = {
  id: string
  state: 'queued' | 'finished' | 'failed'
  result: unknown
  principalId: string
  createdAt: string
  modifiedAt: string
}

const statusStatement = statement<StatusRow>(
  `select id, state, result, principal_id as "principalId", date_trunc('milliseconds', accepted_at) as "createdAt",
          modified_at as "modifiedAt"
   from operations where tenant_id = $1 and id = $2`,
)

export function findStatus(handle: Handle, id: string): Promise<StatusRow | undefined> {
  return handle.row(statusStatement, id)
}

const pruneStatement = statement(
  `delete from operations where tenant_id = $1 and id in (
     select id from operations where tenant_id = $1 and state <> 'queued' and modified_at < now() - make_interval(days => $2)
     order by modified_at limit $3)`,
)

export function pruneOperations(handle: Handle, { days, limit }: { days: number; limit: number }): Promise<number> {
  return handle.run(pruneStatement, days, limit)
}
