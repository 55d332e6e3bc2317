import type { ExportRequest, ExportState } from '@millwright/api/exports.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { type StoredPrincipal, storedPrincipal } from '../../platform/access/current-caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'
import type { ReadRights } from './read-rights.ts'

/** Statements on exports and on the parts of their content. */

export type ExportRow = StoredPrincipal & {
  id: string
  jobId: string
  state: ExportState
  request: ExportRequest
  fileName: string
  attempt: number
  rows: number
  total: number | null
  parts: number
  bytes: number
  problem: { code: string; detail: string } | null
  /** The rights with which the content was read. Only a finished export has them. */
  readRights: ReadRights | null
  createdAt: string
  startedAt: string | null
  finishedAt: string | null
  expiresAt: string | null
  modifiedAt: string
}

const unfinished = `('queued', 'running')`

const principalColumns = `e.principal_id as "principalId", e.principal_kind as "principalKind",
  e.principal_name as "principalName", e.roles`
const columns = `e.id, e.job_id as "jobId", e.state, e.request, e.file_name as "fileName", e.attempt, e.rows, e.total, e.parts,
  e.bytes, e.problem, e.read_rights as "readRights", ${principalColumns}, e.created_at as "createdAt",
  e.started_at as "startedAt", e.finished_at as "finishedAt", e.expires_at as "expiresAt", e.modified_at as "modifiedAt"`

const insertStatement = statement(
  `insert into exports (tenant_id, id, job_id, state, request, file_name, principal_id, principal_kind, principal_name,
     roles, created_at, modified_at)
   values ($1, $2, $3, 'queued', $4::json, $5, $6, $7, $8, $9::json, $10, $10)`,
)

export type NewExport = Pick<ExportRow, 'id' | 'jobId' | 'request' | 'fileName'>

export async function insertExport(
  tx: Transaction,
  caller: Caller,
  { id, jobId, request, fileName }: NewExport,
  now: string,
): Promise<void> {
  const { principalId, principalKind, principalName, roles } = storedPrincipal(caller)
  const principal = [principalId, principalKind, principalName, jsonText(roles)]
  await tx.run(insertStatement, id, jobId, jsonText(request), fileName, ...principal, now)
}

const findStatement = statement<ExportRow>(
  `select ${columns} from exports e where e.tenant_id = $1 and e.id = $2 and not e.is_deleted`,
)
const lockStatement = statement<ExportRow>(
  `select ${columns} from exports e where e.tenant_id = $1 and e.id = $2 and not e.is_deleted for update`,
)

export function findExport(handle: Handle, id: string): Promise<ExportRow | undefined> {
  return handle.row(findStatement, id)
}

/** Returns an export, and locks it until the end of the transaction. */
export function lockExport(tx: Transaction, id: string): Promise<ExportRow | undefined> {
  return tx.row(lockStatement, id)
}

const listStatement = statement<ExportRow>(
  `select ${columns} from exports e where e.tenant_id = $1 and e.principal_id = $2 and not e.is_deleted
   order by e.id desc limit $3 offset $4`,
)
const countStatement = statement<{ total: number }>(
  `select count(*) as total from exports e where e.tenant_id = $1 and e.principal_id = $2 and not e.is_deleted`,
)

export async function listExports(
  handle: Handle,
  principalId: string,
  { limit, offset }: { limit: number; offset: number },
) {
  const rows = await handle.rows(listStatement, principalId, limit, offset)
  return { rows, total: (await handle.row(countStatement, principalId))?.total ?? 0 }
}

const startLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7261))`)
const countUnfinishedStatement = statement<{ ofTenant: number; ofUser: number }>(
  `select count(*) as "ofTenant", count(*) filter (where e.principal_id = $2) as "ofUser" from exports e
   where e.tenant_id = $1 and e.state in ${unfinished}`,
)

/**
 * Returns the number of unfinished exports of the tenant and of a user. Other transactions that count them wait until the
 * end of this one, so that none exceeds the limit.
 */
export async function countUnfinished(tx: Transaction, principalId: string) {
  await tx.run(startLockStatement)
  return (await tx.row(countUnfinishedStatement, principalId)) ?? { ofTenant: 0, ofUser: 0 }
}

const storedStatement = statement<{ bytes: number }>(
  `select coalesce(sum(e.stored_bytes), 0)::bigint as bytes from exports e where e.tenant_id = $1`,
)

/** Returns the size in which all exports of the tenant are stored. */
export async function storedBytes(handle: Handle): Promise<number> {
  return (await handle.row(storedStatement))?.bytes ?? 0
}

const startStatement = statement<ExportRow>(
  `update exports e set state = 'running', attempt = e.attempt + 1, rows = 0, total = null, parts = 0, bytes = 0,
     started_at = $3, modified_at = $3
   where e.tenant_id = $1 and e.id = $2 and e.state in ${unfinished} returning ${columns}`,
)

/** Starts an attempt of an export. Returns undefined if the export has ended. */
export function startAttempt(tx: Transaction, id: string, now: string): Promise<ExportRow | undefined> {
  return tx.row(startStatement, id, now)
}

/** The attempt of an export that a worker runs. */
export type Attempt = Pick<ExportRow, 'id' | 'attempt'>

const stateStatement = statement<{ state: ExportState; attempt: number }>(
  `select e.state, e.attempt from exports e where e.tenant_id = $1 and e.id = $2`,
)

/** Returns whether a worker should continue an attempt: the export was not canceled, and no other worker started it. */
export async function isCurrent(handle: Handle, { id, attempt }: Attempt): Promise<boolean> {
  const row = await handle.row(stateStatement, id)
  return row?.state === 'running' && row.attempt === attempt
}

const progressStatement = statement<ExportRow>(
  `update exports e set rows = $4, total = $5, modified_at = $6
   where e.tenant_id = $1 and e.id = $2 and e.attempt = $3 and e.state = 'running' returning ${columns}`,
)

export type Progress = { rows: number; total: number | null }

/** Stores the progress of an attempt. Returns undefined if the attempt is not current. */
export function setProgress(tx: Transaction, { id, attempt }: Attempt, { rows, total }: Progress, now: string) {
  return tx.row(progressStatement, id, attempt, rows, total, now)
}

const addPartStatement = statement<{ number: number }>(
  `update exports e set parts = e.parts + 1, bytes = e.bytes + $4, stored_bytes = e.stored_bytes + $5, modified_at = $6
   where e.tenant_id = $1 and e.id = $2 and e.attempt = $3 and e.state = 'running' returning e.parts - 1 as number`,
)
const insertPartStatement = statement(
  `insert into export_parts (tenant_id, export_id, number, is_compressed, content) values ($1, $2, $3, $4, $5)`,
)

export type Part = { content: Uint8Array; bytes: number; isCompressed: boolean }

/** Stores the next part of the content. Returns whether the attempt is current. */
export async function addPart(
  tx: Transaction,
  { id, attempt }: Attempt,
  { content, bytes, isCompressed }: Part,
  now: string,
): Promise<boolean> {
  const added = await tx.row(addPartStatement, id, attempt, bytes, content.length, now)
  if (added !== undefined) await tx.run(insertPartStatement, id, added.number, isCompressed, content)
  return added !== undefined
}

const partStatement = statement<{ content: Buffer; isCompressed: boolean }>(
  `select p.content, p.is_compressed as "isCompressed" from export_parts p
   where p.tenant_id = $1 and p.export_id = $2 and p.number = $3`,
)

export function findPart(handle: Handle, id: string, number: number) {
  return handle.row(partStatement, id, number)
}

const endStatement = statement<ExportRow>(
  `update exports e set state = $3, problem = $4::json, rows = coalesce($5, e.rows), total = coalesce($6, e.total), finished_at = $7,
     modified_at = $7, expires_at = $8, read_rights = $10::json
   where e.tenant_id = $1 and e.id = $2 and e.state in ${unfinished} and ($9::integer is null or e.attempt = $9)
   returning ${columns}`,
)

type ExportOutcome = {
  id: string
  state: 'finished' | 'failed' | 'canceled'
  problem?: ExportRow['problem']
  progress?: Progress
  readRights?: ReadRights
  now: string
  /** The time from which the export is deleted. */
  expiresAt: string
  /** Only this attempt ends. Without it, the export ends in any attempt. */
  attempt?: number
}

/** Ends an export. Returns undefined if it has ended already, or if another attempt runs. */
export function endExport(
  tx: Transaction,
  { id, state, problem = null, progress, readRights, now, expiresAt, attempt }: ExportOutcome,
): Promise<ExportRow | undefined> {
  const reason = problem === null ? null : jsonText(problem)
  const counts = [progress?.rows ?? null, progress?.total ?? null]
  const rights = readRights === undefined ? null : jsonText(readRights)
  return tx.row(endStatement, id, state, reason, ...counts, now, expiresAt, attempt ?? null, rights)
}

const markDeletedStatement = statement(
  `update exports e set is_deleted = true, expires_at = $3, modified_at = $3 where e.tenant_id = $1 and e.id = $2`,
)

/** Hides an export. A task deletes it and its content. */
export async function markDeleted(tx: Transaction, id: string, now: string): Promise<void> {
  await tx.run(markDeletedStatement, id, now)
}

/** A statement that returns a row if content can be deleted: of an ended export without a file, or of an expired one. */
export const anyObsolete = statement<{ id: string }>(
  `select e.id from exports e
   where e.tenant_id = $1 and e.expires_at is not null
     and (e.expires_at <= now() or (e.state in ('failed', 'canceled') and e.stored_bytes > 0))
   order by e.expires_at limit 1`,
)

type ObsoleteExport = { row: ExportRow; isExpired: boolean }

const obsoleteStatement = statement<ExportRow & { isExpired: boolean }>(
  `select ${columns}, e.expires_at <= $2 as "isExpired" from exports e
   where e.tenant_id = $1 and e.expires_at is not null
     and (e.expires_at <= $2 or (e.state in ('failed', 'canceled') and e.stored_bytes > 0))
   order by e.expires_at limit 1`,
)

export async function nextObsolete(handle: Handle, now: string): Promise<ObsoleteExport | undefined> {
  const found = await handle.row(obsoleteStatement, now)
  if (found === undefined) return undefined
  const { isExpired, ...row } = found
  return { row, isExpired }
}

const deletePartsStatement = statement<{ number: number }>(
  `delete from export_parts p where p.tenant_id = $1 and p.export_id = $2 and p.number = any(array(
     select o.number from export_parts o where o.tenant_id = $1 and o.export_id = $2 order by o.number limit $3))
   returning p.number`,
)
const clearSizeStatement = statement(
  `update exports e set stored_bytes = 0 where e.tenant_id = $1 and e.id = $2 and e.state <> 'finished'`,
)

/** Deletes up to `limit` parts of an export. Returns whether no part is left. */
export async function deleteParts(tx: Transaction, id: string, limit: number): Promise<boolean> {
  const isDone = (await tx.rows(deletePartsStatement, id, limit)).length < limit
  if (isDone) await tx.run(clearSizeStatement, id)
  return isDone
}

/** Deletes up to `limit` parts of earlier attempts. Returns undefined if the attempt is not current. */
export async function deleteEarlierParts(
  tx: Transaction,
  { id, attempt }: Attempt,
  limit: number,
): Promise<{ isEmpty: boolean } | undefined> {
  const current = await lockExport(tx, id)
  if (current?.state !== 'running' || current.attempt !== attempt) return undefined
  return { isEmpty: await deleteParts(tx, id, limit) }
}

const deleteStatement = statement(`delete from exports e where e.tenant_id = $1 and e.id = $2`)

/** Deletes an export whose parts are deleted. */
export async function deleteExport(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}
