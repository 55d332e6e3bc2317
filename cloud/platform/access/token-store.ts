import { createHash } from 'node:crypto'
import type { Database, Transaction } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import { limits } from '../limits.ts'

/**
 * The time for which revocations and used proofs are stored after they expire. It is longer than the difference between
 * the clocks of the processes and of the verifiers.
 */
const clockToleranceMs = 60_000

const newRevocation = statement(
  `insert into revoked_tokens (tenant_id, principal_id, token_id, expires_at)
   select $1, $2, t.id, $4::timestamptz from unnest($3::uuid[]) as t (id)
   on conflict (tenant_id, principal_id, token_id) do nothing returning token_id`,
)

export type Revocation = {
  principalId: string
  /** The ids of tokens, token families or sign-in sessions. */
  ids: readonly string[]
  /**
   * The time when the last of the tokens expires, in milliseconds since 1970. By default it is now plus the longest
   * lifetime of a token.
   */
  expiresAtMs?: number
}

/**
 * Revokes access tokens before they expire. Returns how many of the ids are newly revoked. The transaction must also
 * call `changeAccess`, so that every process is notified.
 */
export async function revokeTokens(tx: Transaction, { principalId, ids, expiresAtMs }: Revocation): Promise<number> {
  if (ids.length === 0) return 0
  const expiresAt = new Date((expiresAtMs ?? Date.now() + limits.tokenLifetimeSeconds * 1000) + clockToleranceMs)
  return (await tx.rows(newRevocation, principalId, [...new Set(ids)], expiresAt.toISOString())).length
}

const firstUse = statement<{ used: number }>(
  `insert into used_proofs (tenant_id, hash, expires_at) values ($1, $2, $3::timestamptz)
   on conflict (tenant_id, hash) do nothing returning 1 as used`,
)

export type SingleUseProof = {
  tenantId: string
  /** The key or client that signed the proof. */
  signer: string
  /** The claim `jti` of the proof. */
  id: string
  /** The time when the proof becomes too old for the verifier, in milliseconds since 1970. */
  expiresAt: number
}

/** Records the use of a signed proof. Returns true for the first use, and false for each further use in any process. */
export async function useOnce(
  database: Database,
  { tenantId, signer, id, expiresAt }: SingleUseProof,
): Promise<boolean> {
  const hash = createHash('sha256').update(`${signer} ${id}`).digest()
  const forgetAt = new Date(expiresAt + clockToleranceMs).toISOString()
  return database.transaction({ tenantId }, async (tx) => (await tx.row(firstUse, hash, forgetAt)) !== undefined)
}

const expired = 'where tenant_id = $1 and expires_at <= $2::timestamptz'
const prunings = ['revoked_tokens', 'used_proofs'].map((table) => statement(`delete from ${table} ${expired}`))

export async function pruneTokens(tx: Transaction): Promise<void> {
  for (const pruning of prunings) await tx.run(pruning, new Date().toISOString())
}
