import type { SignatureAnchor } from '@millwright/api/artefact-signature.ts'
import type { UpdateSettings } from '@millwright/api/updates.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on trust anchors and on the settings of the update hub. */

export type TrustAnchorRow = SignatureAnchor & {
  name: string
  fingerprint: string
  subject: string | null
  notAfter: string | null
  createdById: string
  createdByName: string
  createdAt: string
}

const columns = `t.id, t.name, t.format, t.public_key as "publicKey", t.fingerprint, t.subject, t.not_after as "notAfter",
  t.created_by_id as "createdById", t.created_by_name as "createdByName", t.created_at as "createdAt"`

const insertStatement = statement<TrustAnchorRow>(
  `insert into update_trust_anchors as t (tenant_id, id, name, format, public_key, key_hash, fingerprint, subject, not_after,
     created_by_id, created_by_name, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict (tenant_id, key_hash) do nothing
   returning ${columns}`,
)

/** Stores a trust anchor. Returns undefined if the tenant has its key already. */
export function insertTrustAnchor(
  tx: Transaction,
  row: Omit<TrustAnchorRow, 'createdAt'> & { keyHash: Buffer },
  now: string,
): Promise<TrustAnchorRow | undefined> {
  const { id, name, format, publicKey, keyHash, fingerprint, subject, notAfter, createdById, createdByName } = row
  const values = [id, name, format, publicKey, keyHash, fingerprint, subject, notAfter, createdById, createdByName, now]
  return tx.row(insertStatement, ...values)
}

const allStatement = statement<TrustAnchorRow>(
  `select ${columns} from update_trust_anchors t where t.tenant_id = $1 order by t.id`,
)

/** Returns all trust anchors. Their number has a limit. */
export function listTrustAnchors(handle: Handle): Promise<TrustAnchorRow[]> {
  return handle.rows(allStatement)
}

const deleteStatement = statement<TrustAnchorRow>(
  `delete from update_trust_anchors t where t.tenant_id = $1 and t.id = $2 returning ${columns}`,
)

export function deleteTrustAnchor(tx: Transaction, id: string): Promise<TrustAnchorRow | undefined> {
  return tx.row(deleteStatement, id)
}

const lockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7269))`)

/**
 * Serialises the changes of trust anchors with the checks of signatures. A signature that is checked with the former anchors
 * is stored before an anchor is deleted, and the deletion then withdraws the trust.
 */
export async function lockTrustAnchors(tx: Transaction): Promise<void> {
  await tx.run(lockStatement)
}

const settingsStatement = statement<{ allowsUnsigned: boolean }>(
  `select s.allows_unsigned as "allowsUnsigned" from update_settings s where s.tenant_id = $1`,
)

export async function readSettings(handle: Handle): Promise<UpdateSettings> {
  return { allowsUnsigned: (await handle.row(settingsStatement))?.allowsUnsigned ?? false }
}

const putSettingsStatement = statement(
  `insert into update_settings as s (tenant_id, allows_unsigned, modified_at) values ($1, $2, $3)
   on conflict (tenant_id) do update set allows_unsigned = excluded.allows_unsigned, modified_at = excluded.modified_at`,
)

export async function putSettings(tx: Transaction, { allowsUnsigned }: UpdateSettings, now: string): Promise<void> {
  await tx.run(putSettingsStatement, allowsUnsigned, now)
}

export const anchorsTopic = 'updates.trust-anchors'

const checkStatement = statement(
  `insert into update_settings as s (tenant_id, needs_signature_check, modified_at) values ($1, $2, $3)
   on conflict (tenant_id) do update set needs_signature_check = excluded.needs_signature_check`,
)

/** Stores whether the signatures of all artefacts must be checked again. */
export async function setNeedsCheck(tx: Transaction, needsCheck: boolean, now: string): Promise<void> {
  await tx.run(checkStatement, needsCheck, now)
  if (needsCheck) tx.signal(anchorsTopic)
}

/** A statement that returns a row if the signatures of the tenant must be checked again. */
export const anyNeededCheck = statement(
  `select from update_settings s where s.tenant_id = $1 and s.needs_signature_check`,
)
