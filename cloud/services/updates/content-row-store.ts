import type { Handle, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'
import type { StoreName } from './content-store/content-store.ts'

/** Statements on the contents of artefacts, on uploads, and on contents whose bytes must be deleted. */

export type ContentRow = {
  sha256: string
  size: number
  store: StoreName
  location: string
  sha384: Buffer
  sha512: Buffer
  blake2b512: Buffer
}

const contentColumns = `c.sha256, c.size, c.store, c.location, c.sha384, c.sha512, c.blake2b512`

const insertContentStatement = statement<{ sha256: string }>(
  `insert into artefact_contents (tenant_id, sha256, size, store, location, sha384, sha512, blake2b512, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (tenant_id, sha256) do nothing returning sha256`,
)

/** Stores a content. Returns false if the tenant has it already. */
export async function insertContent(tx: Transaction, row: ContentRow, now: string): Promise<boolean> {
  const { sha256, size, store, location, sha384, sha512, blake2b512 } = row
  const values = [sha256, size, store, location, sha384, sha512, blake2b512, now]
  return (await tx.row(insertContentStatement, ...values)) !== undefined
}

const findContentStatement = statement<ContentRow>(
  `select ${contentColumns} from artefact_contents c where c.tenant_id = $1 and c.sha256 = $2`,
)
const lockContentStatement = statement<ContentRow>(
  `select ${contentColumns} from artefact_contents c where c.tenant_id = $1 and c.sha256 = $2 for update`,
)

export function findContent(handle: Handle, sha256: string): Promise<ContentRow | undefined> {
  return handle.row(findContentStatement, sha256)
}

/** Returns a content, and locks it until the end of the transaction, so that it is neither used nor deleted meanwhile. */
export function lockContent(tx: Transaction, sha256: string): Promise<ContentRow | undefined> {
  return tx.row(lockContentStatement, sha256)
}

const usedStatement = statement(`select from artefacts a where a.tenant_id = $1 and a.sha256 = $2 limit 1`)
const deleteContentStatement = statement(`delete from artefact_contents c where c.tenant_id = $1 and c.sha256 = $2`)

/** Deletes a content that no artefact has. The caller holds the lock of the content. */
export async function deleteUnusedContent(tx: Transaction, row: ContentRow, now: string): Promise<boolean> {
  if ((await tx.row(usedStatement, row.sha256)) !== undefined) return false
  await tx.run(deleteContentStatement, row.sha256)
  await insertDeletion(tx, { store: row.store, location: row.location, uploadId: null, parts: null }, now)
  return true
}

export type UploadRow = {
  id: string
  /** The name of the bytes in the store. Each upload has another one. */
  uploadId: string
  store: StoreName
  receivedBytes: number
  parts: unknown
}

const uploadColumns = `u.id, u.upload_id as "uploadId", u.store, u.received_bytes as "receivedBytes", u.parts`

const findUploadStatement = statement<UploadRow>(
  `select ${uploadColumns} from artefact_uploads u where u.tenant_id = $1 and u.id = $2`,
)

export function findUpload(handle: Handle, id: string): Promise<UploadRow | undefined> {
  return handle.row(findUploadStatement, id)
}

const leaseStatement = statement<UploadRow>(
  `insert into artefact_uploads as u (tenant_id, id, upload_id, store, received_bytes, lease_id, lease_expires_at, modified_at)
   values ($1, $2, $3, $4, 0, $5, $6, $7)
   on conflict (tenant_id, id) do update
   set lease_id = excluded.lease_id, lease_expires_at = excluded.lease_expires_at
   where u.lease_expires_at is null or u.lease_expires_at < excluded.modified_at
   returning ${uploadColumns}`,
)

export type UploadLease = { id: string; leaseId: string; expiresAt: string }

/** Takes the lease of an upload, which starts if it does not exist. Returns undefined if another request holds the lease. */
export function leaseUpload(
  tx: Transaction,
  { id, leaseId, expiresAt }: UploadLease,
  { store, now }: { store: StoreName; now: string },
): Promise<UploadRow | undefined> {
  return tx.row(leaseStatement, id, newId(), store, leaseId, expiresAt, now)
}

const confirmStatement = statement<{ id: string }>(
  `update artefact_uploads u set received_bytes = $4, parts = $5::json, lease_expires_at = $6, modified_at = $7
   where u.tenant_id = $1 and u.id = $2 and u.lease_id = $3 returning u.id`,
)

/** Stores the bytes that an upload has. Returns false if the request has lost its lease. */
export async function confirmUpload(
  tx: Transaction,
  { id, leaseId, expiresAt }: UploadLease,
  { receivedBytes, parts, now }: { receivedBytes: number; parts: unknown; now: string },
): Promise<boolean> {
  const stored = parts === null || parts === undefined ? null : jsonText(parts)
  return (await tx.row(confirmStatement, id, leaseId, receivedBytes, stored, expiresAt, now)) !== undefined
}

const releaseStatement = statement(
  `update artefact_uploads u set lease_id = null, lease_expires_at = null
   where u.tenant_id = $1 and u.id = $2 and u.lease_id = $3`,
)

export async function releaseUpload(tx: Transaction, { id, leaseId }: Omit<UploadLease, 'expiresAt'>): Promise<void> {
  await tx.run(releaseStatement, id, leaseId)
}

const deleteUploadStatement = statement<UploadRow>(
  `delete from artefact_uploads u where u.tenant_id = $1 and u.id = $2 returning ${uploadColumns}`,
)

/** Ends an upload. Its bytes are deleted unless they are the content of an artefact now. */
export async function deleteUpload(
  tx: Transaction,
  id: string,
  { now, keepsBytes = false }: { now: string; keepsBytes?: boolean },
): Promise<void> {
  const row = await tx.row(deleteUploadStatement, id)
  if (row === undefined || keepsBytes) return
  await insertDeletion(tx, { store: row.store, location: null, uploadId: row.uploadId, parts: row.parts }, now)
}

/** Bytes that must be deleted: a content by its location, or an upload by its id. */
export type DeletionRow = {
  id: string
  store: StoreName
  location: string | null
  uploadId: string | null
  parts: unknown
}

const insertDeletionStatement = statement(
  `insert into artefact_deletions (tenant_id, id, store, location, upload_id, parts, created_at)
   values ($1, $2, $3, $4, $5, $6::json, $7)`,
)

export const deletionsTopic = 'updates.deletions'

export async function insertDeletion(tx: Transaction, row: Omit<DeletionRow, 'id'>, now: string): Promise<void> {
  const parts = row.parts === null || row.parts === undefined ? null : jsonText(row.parts)
  await tx.run(insertDeletionStatement, newId(), row.store, row.location, row.uploadId, parts, now)
  tx.signal(deletionsTopic)
}

const deletionsStatement = statement<DeletionRow>(
  `select d.id, d.store, d.location, d.upload_id as "uploadId", d.parts from artefact_deletions d
   where d.tenant_id = $1 order by d.id limit $2`,
)
const deleteDeletionStatement = statement(`delete from artefact_deletions d where d.tenant_id = $1 and d.id = $2`)

/** A statement that returns a row if the tenant has bytes to delete. */
export const anyDeletion = statement(`select from artefact_deletions d where d.tenant_id = $1 limit 1`)

export function listDeletions(handle: Handle, limit: number): Promise<DeletionRow[]> {
  return handle.rows(deletionsStatement, limit)
}

export async function endDeletion(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteDeletionStatement, id)
}
