import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'

/** A sign-in with a correct password that waits for the second factor. */
export type PendingSignIn = {
  principalId: string
  name: string
  displayName: string
  /** The hash of the form cookie. */
  browser: Buffer
  /** The authorization request. */
  query: string
  challenge: string | null
  challengeExpiresAt: string | null
  sealedTotpSecret: Buffer | null
  /** The factors that the user has proved in addition to the password. */
  methods: string[]
  /** The hash of the password that the user entered. */
  passwordHash: string
}

/** The number of pending sign-ins that a user can have. The oldest ones are deleted. */
const pendingPerUser = 20

const columns = `s.principal_id as "principalId", p.name, p.display_name as "displayName", s.browser, s.query, s.challenge,
  s.challenge_expires_at as "challengeExpiresAt", s.sealed_totp_secret as "sealedTotpSecret", s.methods,
  w.hash as "passwordHash"`
const pending = `from pending_sign_ins s join principals p on p.tenant_id = $1 and p.id = s.principal_id
  join user_passwords w on w.tenant_id = $1 and w.principal_id = s.principal_id
  where s.tenant_id = $1 and s.hash = $2 and s.expires_at > $3::timestamptz`

const newPending = statement(
  `insert into pending_sign_ins (tenant_id, hash, principal_id, browser, query, expires_at)
   values ($1, $2, $3, $4, $5, $6::timestamptz)`,
)
const prunedPending = statement(
  `delete from pending_sign_ins where tenant_id = $1 and hash in (
     select o.hash from pending_sign_ins o where o.tenant_id = $1 and o.principal_id = $2
     order by o.expires_at desc, o.hash offset $3::integer)`,
)
const pendingByHash = statement<PendingSignIn>(`select ${columns} ${pending}`)
const lockedPending = statement<PendingSignIn>(`select ${columns} ${pending} for update of s`)
const changedChallenge = statement(
  `update pending_sign_ins set challenge = $3, challenge_expires_at = $4::timestamptz
   where tenant_id = $1 and hash = $2`,
)
const changedSecret = statement(
  'update pending_sign_ins set sealed_totp_secret = $3 where tenant_id = $1 and hash = $2',
)
const changedMethods = statement('update pending_sign_ins set methods = $3 where tenant_id = $1 and hash = $2')
const countedFailure = statement<{ failures: number }>(
  `update pending_sign_ins set failures = failures + 1, challenge = null
   where tenant_id = $1 and hash = $2 returning failures`,
)
const deletedPending = statement('delete from pending_sign_ins where tenant_id = $1 and hash = $2')

type NewPending = { hash: Buffer; principalId: string; browser: Buffer; query: string; expiresAt: string }

export async function insertPending(tx: Transaction, sign: NewPending): Promise<void> {
  await tx.run(newPending, sign.hash, sign.principalId, sign.browser, sign.query, sign.expiresAt)
  await tx.run(prunedPending, sign.principalId, pendingPerUser)
}

export function findPending(handle: Handle, hash: Buffer, now: string): Promise<PendingSignIn | undefined> {
  return handle.row(pendingByHash, hash, now)
}

/** Locks a pending sign-in, so that concurrent requests are checked one after the other. */
export function lockPending(tx: Transaction, hash: Buffer, now: string): Promise<PendingSignIn | undefined> {
  return tx.row(lockedPending, hash, now)
}

export async function setPendingChallenge(
  tx: Transaction,
  hash: Buffer,
  { challenge, expiresAt }: { challenge: string; expiresAt: string },
): Promise<void> {
  await tx.run(changedChallenge, hash, challenge, expiresAt)
}

export async function setPendingSecret(tx: Transaction, hash: Buffer, sealedSecret: Buffer): Promise<void> {
  await tx.run(changedSecret, hash, sealedSecret)
}

export async function setPendingMethods(tx: Transaction, hash: Buffer, methods: string[]): Promise<void> {
  await tx.run(changedMethods, hash, methods)
}

/** Counts a wrong code or passkey, and deletes the challenge. Returns the number of failures. */
export async function countFailure(tx: Transaction, hash: Buffer): Promise<number> {
  return (await tx.row(countedFailure, hash))?.failures ?? 0
}

export async function deletePending(tx: Transaction, hash: Buffer): Promise<void> {
  await tx.run(deletedPending, hash)
}
