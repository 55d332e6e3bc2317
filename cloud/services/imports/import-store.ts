import { type Import, type ImportFormat, importLimits, type MappedColumn } from '@millwright/api/imports.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { PrincipalKind } from '../../platform/access/caller.ts'
import type { StoredPrincipal } from '../../platform/access/current-caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on imports. */

export type ImportPhase = 'reading' | 'writing' | 'placing'

/** The rows that are being written. `writeId` names the write in the inventory, so that it is never sent twice. */
export type Portion = {
  writeId: string
  /** The numbers of the rows, in the order of the request. */
  rows: number[]
  /** The last row that this portion covers. The next portion continues after it. */
  lastRow: number
}

export type ImportRow = StoredPrincipal & {
  id: string
  fileName: string
  bytes: number
  format: ImportFormat | null
  state: Exclude<Import['state'], 'canceling'>
  phase: ImportPhase
  dryRun: boolean
  slot: number | null
  mappingId: string | null
  mapping: MappedColumn[] | null
  columns: MappedColumn[]
  rows: number
  created: number
  updated: number
  unchanged: number
  failed: number
  nextRow: number
  portion: Portion | null
  problem: { code: string; detail: string } | null
  jobId: string
  isReported: boolean
  attempts: number
  principalKind: PrincipalKind
  createdAt: string
  startedAt: string | null
  finishedAt: string | null
}

const columns = [
  'id, file_name as "fileName", bytes, format, state, phase, dry_run as "dryRun", slot, mapping_id as "mappingId"',
  'mapping, columns, rows, created, updated, unchanged, failed, next_row as "nextRow", portion, problem',
  'job_id as "jobId", is_reported as "isReported", attempts, principal_id as "principalId", principal_kind as "principalKind"',
  'principal_name as "principalName", roles, created_at as "createdAt", started_at as "startedAt"',
  'finished_at as "finishedAt"',
].join(', ')

const insertStatement = statement(
  `insert into imports (tenant_id, id, file_name, bytes, state, dry_run, mapping_id, mapping, job_id, principal_id,
     principal_kind, principal_name, roles, created_at, queued_at)
   values ($1, $2, $3, $4, 'queued', $5, $6, $7::json, $8, $9, $10, $11, $12::json, $13, $13)`,
)

export type NewImport = Pick<ImportRow, 'id' | 'fileName' | 'bytes' | 'dryRun' | 'mappingId' | 'mapping' | 'jobId'>

export async function insertImport(
  tx: Transaction,
  { id, fileName, bytes, dryRun, mappingId, mapping, jobId }: NewImport,
  { principal, now }: { principal: StoredPrincipal; now: string },
): Promise<void> {
  const { principalId, principalKind, principalName, roles } = principal
  const saved = mapping === null ? null : jsonText(mapping)
  const values = [id, fileName, bytes, dryRun, mappingId, saved, jobId, principalId, principalKind, principalName]
  await tx.run(insertStatement, ...values, jsonText(roles), now)
}

const findStatement = statement<ImportRow>(`select ${columns} from imports where tenant_id = $1 and id = $2`)
const lockStatement = statement<ImportRow>(`select ${columns} from imports where tenant_id = $1 and id = $2 for update`)

export function findImport(handle: Handle, id: string): Promise<ImportRow | undefined> {
  return handle.row(findStatement, id)
}

export function lockImport(tx: Transaction, id: string): Promise<ImportRow | undefined> {
  return tx.row(lockStatement, id)
}

const listStatement = statement<ImportRow>(
  `select ${columns} from imports where tenant_id = $1 and ($2::uuid is null or principal_id = $2)
   order by id desc limit $3 offset $4`,
)
const countStatement = statement<{ total: number }>(
  `select count(*) as total from imports where tenant_id = $1 and ($2::uuid is null or principal_id = $2)`,
)

export async function listImports(
  handle: Handle,
  principalId: string | null,
  { limit, offset }: { limit: number; offset: number },
) {
  const rows = await handle.rows(listStatement, principalId, limit, offset)
  return { rows, total: (await handle.row(countStatement, principalId))?.total ?? 0 }
}

const startLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7251))`)
export type ImportCounts = { unfinished: number; stored: number; bytes: number }
const countsStatement = statement<ImportCounts>(
  `select count(*) filter (where state in ('queued', 'running')) as unfinished, count(*) as stored,
     coalesce(sum(characters), 0)::bigint + (
       select coalesce(sum(octet_length(p.content)), 0) from import_file_parts p where p.tenant_id = $1)::bigint as bytes
   from imports where tenant_id = $1`,
)

/**
 * Returns the number of unfinished and of stored imports of the tenant, and the size of their files and rows. Uploads that
 * have not ended count too.
 */
export async function countImports(handle: Handle): Promise<ImportCounts> {
  return (await handle.row(countsStatement)) ?? { unfinished: 0, stored: 0, bytes: 0 }
}

/** Returns the counts. Other transactions that lock them wait until the end of this one, so that none exceeds a limit. */
export async function lockImportCounts(tx: Transaction): Promise<ImportCounts> {
  await tx.run(startLockStatement)
  return countImports(tx)
}

/** Requires that the tenant can store these further imports and bytes. */
export function requireStorage({ stored, bytes }: ImportCounts, more: { imports: number; bytes: number }): void {
  const { stored: mostStored, storedBytes: mostBytes } = importLimits
  if (stored + more.imports <= mostStored && bytes + more.bytes <= mostBytes) return
  throw new Problem(
    'conflict',
    `The tenant stores ${stored} imports with ${bytes} bytes of files and rows. The limit is ${mostStored} imports and ${mostBytes} bytes. Delete past imports first`,
  )
}

const ownStatement = statement<{ id: string }>(
  `select id from imports where tenant_id = $1 and slot = $2 and (state = 'running' or portion is not null)
   order by queued_at, id limit 1`,
)
const nextStatement = statement<{ id: string }>(
  `select id from imports where tenant_id = $1 and state = 'queued' order by queued_at, id limit 1`,
)
const startStatement = statement(
  `update imports set state = 'running', slot = $3, started_at = coalesce(started_at, $4) where tenant_id = $1 and id = $2`,
)

/**
 * Returns the import that runs in a slot. If none runs there, starts the import that has waited longest. The slots of a
 * tenant take imports one after the other.
 */
export async function takeImport(
  tx: Transaction,
  { slot, now }: { slot: number; now: string },
): Promise<{ id: string; isNew: boolean } | undefined> {
  await tx.run(startLockStatement)
  const own = await tx.row(ownStatement, slot)
  if (own !== undefined) return { ...own, isNew: false }
  const next = await tx.row(nextStatement)
  if (next === undefined) return undefined
  await tx.run(startStatement, next.id, slot, now)
  return { ...next, isNew: true }
}

const openedStatement = statement(
  `update imports set format = $3, columns = $4::json, attempts = 0 where tenant_id = $1 and id = $2`,
)

/** Stores the format and the columns of the file. */
export async function setColumns(
  tx: Transaction,
  id: string,
  { format, columns: mapped }: { format: ImportFormat; columns: readonly MappedColumn[] },
): Promise<void> {
  await tx.run(openedStatement, id, format, jsonText(mapped))
}

const phaseStatement = statement(
  `update imports set phase = $3, next_row = 0, attempts = 0 where tenant_id = $1 and id = $2`,
)

export async function setPhase(tx: Transaction, id: string, phase: ImportPhase): Promise<void> {
  await tx.run(phaseStatement, id, phase)
}

const readStatement = statement(
  `update imports set rows = rows + $3, characters = characters + $4, attempts = 0 where tenant_id = $1 and id = $2`,
)

export async function addReadRows(
  tx: Transaction,
  id: string,
  { count, characters }: { count: number; characters: number },
): Promise<void> {
  await tx.run(readStatement, id, count, characters)
}

const portionStatement = statement(`update imports set portion = $3::json where tenant_id = $1 and id = $2`)

export async function setPortion(tx: Transaction, id: string, portion: Portion): Promise<void> {
  await tx.run(portionStatement, id, jsonText(portion))
}

export type OutcomeCounts = { created: number; updated: number; unchanged: number; failed: number }

const progressStatement = statement(
  `update imports set created = created + $3, updated = updated + $4, unchanged = unchanged + $5, failed = failed + $6,
     next_row = $7, portion = null, attempts = 0
   where tenant_id = $1 and id = $2`,
)

/** Adds results to the counts of an import, and stores the place at which it continues. */
export async function addResults(
  tx: Transaction,
  id: string,
  { created, updated, unchanged, failed }: OutcomeCounts,
  nextRow: number,
): Promise<void> {
  await tx.run(progressStatement, id, created, updated, unchanged, failed, nextRow)
}

const endStatement = statement(
  `update imports set state = $3, problem = $4::json, finished_at = $5, slot = case when portion is null then null else slot end
   where tenant_id = $1 and id = $2`,
)

export async function endImport(
  tx: Transaction,
  {
    id,
    state,
    problem = null,
  }: { id: string; state: 'finished' | 'failed' | 'canceled'; problem?: ImportRow['problem'] },
  now: string,
): Promise<void> {
  await tx.run(endStatement, id, state, problem === null ? null : jsonText(problem), now)
}

const restartStatement = statement(
  `update imports set state = 'queued', dry_run = false, phase = 'writing', next_row = 0, created = 0, updated = 0,
     unchanged = 0, failed = 0, problem = null, job_id = $3, is_reported = false, queued_at = $4, started_at = null, finished_at = null,
     attempts = 0, slot = null, principal_id = $5, principal_kind = $6, principal_name = $7, roles = $8::json
   where tenant_id = $1 and id = $2`,
)

/** Prepares the run of a finished dry run. The caller that runs the import writes its rows. */
export async function restartImport(
  tx: Transaction,
  { id, jobId }: { id: string; jobId: string },
  { principal, now }: { principal: StoredPrincipal; now: string },
): Promise<void> {
  const { principalId, principalKind, principalName, roles } = principal
  await tx.run(restartStatement, id, jobId, now, principalId, principalKind, principalName, jsonText(roles))
}

const attemptStatement = statement<{ attempts: number }>(
  `update imports set attempts = attempts + 1 where tenant_id = $1 and id = $2 returning attempts`,
)

/** Counts an attempt without progress. */
export async function countAttempt(tx: Transaction, id: string): Promise<number> {
  return (await tx.row(attemptStatement, id))?.attempts ?? 0
}

const deleteStatement = statement(`delete from imports where tenant_id = $1 and id = $2`)

export async function deleteImport(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}

const expiredStatement = statement<{ id: string }>(
  `select id from imports where tenant_id = $1 and finished_at < $2 and portion is null order by finished_at limit 1`,
)

/** Returns an import that ended before this time. */
export async function findExpired(handle: Handle, before: string): Promise<string | undefined> {
  return (await handle.row(expiredStatement, before))?.id
}

/** A statement that returns a row if the tenant has imports or parts of files. */
export const anyImport = statement(
  `select 1 from imports where tenant_id = $1 union all select 1 from import_file_parts where tenant_id = $1 limit 1`,
)

/** A statement that returns a row if an import waits or runs. */
/** A statement that returns a row if an import has not ended, or if its job does not have its end yet. */
export const anyUnfinished = statement(
  `select 1 from imports where tenant_id = $1 and (not is_reported or portion is not null) limit 1`,
)

const unreportedStatement = statement<ImportRow>(
  `select ${columns} from imports
   where tenant_id = $1 and not is_reported and state not in ('queued', 'running') order by id limit 100`,
)

/** Returns ended imports whose jobs do not have their end yet. */
export function findUnreported(handle: Handle): Promise<ImportRow[]> {
  return handle.rows(unreportedStatement)
}

const reportedStatement = statement(
  `update imports set is_reported = true where tenant_id = $1 and id = $2 and job_id = $3`,
)

/** Records that the job has the end of its import. */
export async function setReported(tx: Transaction, { id, jobId }: { id: string; jobId: string }): Promise<void> {
  await tx.run(reportedStatement, id, jobId)
}
