import type { RetrievedKind } from '@millwright/api/updates.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on retrievals. */

export type RetrievalRow = {
  id: string
  jobId: string
  assetId: string
  assetName: string
  manufacturer: string
  product: string
  accessGroupId: string
  gatewayId: string
  definition: Record<string, unknown>
  isJobCreated: boolean
  kind: RetrievedKind
  state: 'waiting' | 'running' | 'finished' | 'failed'
  progress: number
  reason: string | null
  artefactId: string | null
  principalId: string
  principalName: string
  createdAt: string
}

const columns = `r.id, r.job_id as "jobId", r.asset_id as "assetId", r.asset_name as "assetName", r.manufacturer, r.product,
  r.access_group_id as "accessGroupId", r.gateway_id as "gatewayId", r.definition, r.is_job_created as "isJobCreated",
  r.kind, r.state, r.progress, r.reason, r.artefact_id as "artefactId", r.principal_id as "principalId",
  r.principal_name as "principalName", r.created_at as "createdAt"`
const open = `('waiting', 'running')`

const insertStatement = statement<RetrievalRow>(
  `insert into update_retrievals as r (tenant_id, id, job_id, asset_id, asset_name, manufacturer, product, access_group_id,
     gateway_id, definition, kind, state, principal_id, principal_name, created_at, modified_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::json, $11, 'waiting', $12, $13, $14, $14) returning ${columns}`,
)

export type NewRetrieval = Omit<
  RetrievalRow,
  'isJobCreated' | 'state' | 'progress' | 'reason' | 'artefactId' | 'createdAt'
>

export function insertRetrieval(tx: Transaction, row: NewRetrieval, now: string): Promise<RetrievalRow | undefined> {
  const { id, jobId, assetId, assetName, manufacturer, product, accessGroupId, gatewayId, definition, kind } = row
  const asset = [assetId, assetName, manufacturer, product, accessGroupId]
  const { principalId, principalName } = row
  const values = [id, jobId, ...asset, gatewayId, jsonText(definition), kind, principalId, principalName, now]
  return tx.row(insertStatement, ...values)
}

const lockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text || $2::text, 7270))`)
const openStatement = statement<RetrievalRow>(
  `select ${columns} from update_retrievals r
   where r.tenant_id = $1 and r.asset_id = $2 and r.kind = $3 and r.state in ${open} order by r.id limit 1`,
)

/** Returns the retrieval of this kind that an asset has and that has not ended. Other transactions wait until this one ends. */
export async function lockOpenRetrieval(
  tx: Transaction,
  { assetId, kind }: { assetId: string; kind: RetrievedKind },
): Promise<RetrievalRow | undefined> {
  await tx.run(lockStatement, assetId)
  return tx.row(openStatement, assetId, kind)
}

const listStatement = statement<RetrievalRow>(
  `select ${columns} from update_retrievals r where r.tenant_id = $1 and r.asset_id = $2
   order by r.id desc limit $3 offset $4`,
)
const countStatement = statement<{ total: number }>(
  `select count(*) as total from update_retrievals r where r.tenant_id = $1 and r.asset_id = $2`,
)

export async function listRetrievals(
  handle: Handle,
  assetId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: RetrievalRow[]; total: number }> {
  const rows = await handle.rows(listStatement, assetId, limit, offset)
  return { rows, total: (await handle.row(countStatement, assetId))?.total ?? 0 }
}

const byJobStatement = statement<RetrievalRow>(
  `select ${columns} from update_retrievals r where r.tenant_id = $1 and r.job_id = $2`,
)
const lockByJobStatement = statement<RetrievalRow>(
  `select ${columns} from update_retrievals r where r.tenant_id = $1 and r.job_id = $2 for update`,
)

export function findRetrieval(handle: Handle, jobId: string): Promise<RetrievalRow | undefined> {
  return handle.row(byJobStatement, jobId)
}

/** Returns a retrieval by its job, and locks it until the end of the transaction. */
export function lockRetrieval(tx: Transaction, jobId: string): Promise<RetrievalRow | undefined> {
  return tx.row(lockByJobStatement, jobId)
}

const stateStatement = statement<RetrievalRow>(
  `update update_retrievals r set state = $3, progress = $4, reason = $5, artefact_id = $6, modified_at = $7
   where r.tenant_id = $1 and r.id = $2 and r.state in ${open} returning ${columns}`,
)

export type RetrievalState = Pick<RetrievalRow, 'state' | 'progress' | 'reason' | 'artefactId'>

/** Changes the state of a retrieval. Returns undefined if it has ended. */
export function setRetrievalState(
  tx: Transaction,
  id: string,
  { state, progress, reason, artefactId }: RetrievalState,
  now: string,
): Promise<RetrievalRow | undefined> {
  return tx.row(stateStatement, id, state, progress, reason, artefactId, now)
}

const createdStatement = statement(
  `update update_retrievals r set is_job_created = true where r.tenant_id = $1 and r.id = $2`,
)

export async function noteCreatedJob(tx: Transaction, id: string): Promise<void> {
  await tx.run(createdStatement, id)
}

const allOpenStatement = statement<RetrievalRow>(
  `select ${columns} from update_retrievals r where r.tenant_id = $1 and r.state in ${open} and r.id > $2
   order by r.id limit $3`,
)

/** Returns retrievals that have not ended, in the order of their ids, after an id. */
export function listOpenRetrievals(handle: Handle, afterId: string, limit: number): Promise<RetrievalRow[]> {
  return handle.rows(allOpenStatement, afterId, limit)
}

/** A statement that returns a row if the tenant has a retrieval that has not ended. */
export const anyOpenRetrieval = statement(
  `select from update_retrievals r where r.tenant_id = $1 and r.state in ${open} limit 1`,
)

const deleteStatement = statement<{ id: string }>(
  `delete from update_retrievals r where r.tenant_id = $1 and r.id = any(array(
     select o.id from update_retrievals o
     where o.tenant_id = $1 and o.state not in ${open} and o.modified_at < $2 order by o.id limit $3)) returning r.id`,
)

/** Deletes up to `limit` retrievals that ended before a time. Their artefacts stay. Returns how many were deleted. */
export async function deleteOldRetrievals(tx: Transaction, before: string, limit: number): Promise<number> {
  return (await tx.rows(deleteStatement, before, limit)).length
}
