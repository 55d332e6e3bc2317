import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'

export type PasskeyRow = {
  id: string
  name: string
  credentialId: Buffer
  publicKey: Buffer
  signCount: number
  transports: string[]
  createdAt: string
  lastUsedAt: string | null
}

const lockedPrincipal = statement('select id from principals where tenant_id = $1 and id = $2 for update')

/** Locks a user, so that no other transaction adds or removes a factor at the same time. */
export async function lockFactors(tx: Transaction, principalId: string): Promise<void> {
  await tx.row(lockedPrincipal, principalId)
}

export type TotpRow = {
  sealedSecret: Buffer
  createdAt: string
  confirmedAt: string | null
}

const totpOf = statement<TotpRow>(
  `select sealed_secret as "sealedSecret", created_at as "createdAt", confirmed_at as "confirmedAt"
   from totp_secrets where tenant_id = $1 and principal_id = $2`,
)
const upsertTotp = statement(
  `insert into totp_secrets (tenant_id, principal_id, sealed_secret, created_at, confirmed_at, last_step)
   values ($1, $2, $3, $4::timestamptz, $5::timestamptz, $6)
   on conflict (tenant_id, principal_id) do update set sealed_secret = excluded.sealed_secret,
     created_at = excluded.created_at, confirmed_at = excluded.confirmed_at, last_step = excluded.last_step
   where totp_secrets.confirmed_at is null`,
)
const confirmedTotp = statement(
  `update totp_secrets set confirmed_at = $3::timestamptz, last_step = $4
   where tenant_id = $1 and principal_id = $2 and confirmed_at is null`,
)
const usedStep = statement(
  `update totp_secrets set last_step = $3
   where tenant_id = $1 and principal_id = $2 and confirmed_at is not null and (last_step is null or last_step < $3)`,
)
const deletedTotp = statement('delete from totp_secrets where tenant_id = $1 and principal_id = $2')

export function findTotp(handle: Handle, principalId: string): Promise<TotpRow | undefined> {
  return handle.row(totpOf, principalId)
}

type NewTotp = { principalId: string; sealedSecret: Buffer; now: string }

/** Stores a secret that the user must confirm. Returns false if the user already has a confirmed secret. */
export async function putTotp(tx: Transaction, { principalId, sealedSecret, now }: NewTotp): Promise<boolean> {
  return (await tx.run(upsertTotp, principalId, sealedSecret, now, null, null)) > 0
}

/** Stores a secret that the user has already confirmed with the code of a time step. */
export async function putConfirmedTotp(tx: Transaction, totp: NewTotp & { step: number }): Promise<boolean> {
  const { principalId, sealedSecret, now, step } = totp
  return (await tx.run(upsertTotp, principalId, sealedSecret, now, now, step)) > 0
}

export async function confirmTotp(
  tx: Transaction,
  { principalId, now, step }: { principalId: string; now: string; step: number },
): Promise<boolean> {
  return (await tx.run(confirmedTotp, principalId, now, step)) > 0
}

/** Marks a time step as used. Returns false if this step or a later step was used before. */
export async function useTotpStep(tx: Transaction, principalId: string, step: number): Promise<boolean> {
  return (await tx.run(usedStep, principalId, step)) > 0
}

export async function deleteTotp(tx: Transaction, principalId: string): Promise<void> {
  await tx.run(deletedTotp, principalId)
}

const passkeyColumns = `id, name, credential_id as "credentialId", public_key as "publicKey",
  sign_count as "signCount", transports, created_at as "createdAt", last_used_at as "lastUsedAt"`

const passkeysOf = statement<PasskeyRow>(
  `select ${passkeyColumns} from passkeys where tenant_id = $1 and principal_id = $2 order by created_at, id`,
)
const newPasskey = statement<PasskeyRow>(
  `insert into passkeys
     (tenant_id, id, principal_id, name, credential_id, public_key, sign_count, transports, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9::timestamptz)
   on conflict (tenant_id, credential_id) do nothing returning ${passkeyColumns}`,
)
const usedPasskey = statement(
  `update passkeys set sign_count = $4, last_used_at = $5::timestamptz
   where tenant_id = $1 and principal_id = $2 and id = $3 and (sign_count < $4 or (sign_count = 0 and $4 = 0))`,
)
const renamedPasskey = statement<PasskeyRow>(
  `update passkeys set name = $4 where tenant_id = $1 and principal_id = $2 and id = $3 returning ${passkeyColumns}`,
)
const deletedPasskey = statement('delete from passkeys where tenant_id = $1 and principal_id = $2 and id = $3')
const deletedPasskeys = statement('delete from passkeys where tenant_id = $1 and principal_id = $2')

/** Returns the passkeys of a user. Their number is limited by `signInLimits`. */
export function listPasskeys(handle: Handle, principalId: string): Promise<PasskeyRow[]> {
  return handle.rows(passkeysOf, principalId)
}

export type NewPasskey = Omit<PasskeyRow, 'createdAt' | 'lastUsedAt'> & { principalId: string; now: string }

/** Stores a passkey. Returns `undefined` if a user of the tenant already has this credential. */
export function insertPasskey(tx: Transaction, passkey: NewPasskey): Promise<PasskeyRow | undefined> {
  const { id, principalId, name, credentialId, publicKey, signCount, transports, now } = passkey
  return tx.row(newPasskey, id, principalId, name, credentialId, publicKey, signCount, transports, now)
}

type PasskeyUse = { principalId: string; id: string; signCount: number; now: string }

/** Stores the counter after a use. Returns false if the counter did not increase. */
export async function usePasskey(tx: Transaction, { principalId, id, signCount, now }: PasskeyUse): Promise<boolean> {
  return (await tx.run(usedPasskey, principalId, id, signCount, now)) > 0
}

export function renamePasskey(
  tx: Transaction,
  { principalId, id, name }: { principalId: string; id: string; name: string },
): Promise<PasskeyRow | undefined> {
  return tx.row(renamedPasskey, principalId, id, name)
}

export async function deletePasskey(tx: Transaction, principalId: string, id: string): Promise<boolean> {
  return (await tx.run(deletedPasskey, principalId, id)) > 0
}

export async function deletePasskeys(tx: Transaction, principalId: string): Promise<void> {
  await tx.run(deletedPasskeys, principalId)
}

const countedCodes = statement<{ total: number }>(
  'select count(*) as total from recovery_codes where tenant_id = $1 and principal_id = $2',
)
const newCodes = statement(
  `insert into recovery_codes (tenant_id, principal_id, hash)
   select $1, $2, hash from unnest($3::bytea[]) as hash on conflict do nothing`,
)
const usedCode = statement('delete from recovery_codes where tenant_id = $1 and principal_id = $2 and hash = $3')
const deletedCodes = statement('delete from recovery_codes where tenant_id = $1 and principal_id = $2')

export async function countRecoveryCodes(handle: Handle, principalId: string): Promise<number> {
  return (await handle.row(countedCodes, principalId))?.total ?? 0
}

export async function replaceRecoveryCodes(tx: Transaction, principalId: string, hashes: Buffer[]): Promise<void> {
  await tx.run(deletedCodes, principalId)
  if (hashes.length > 0) await tx.run(newCodes, principalId, hashes)
}

/** Deletes a recovery code. Returns false if the user does not have this code. */
export async function useRecoveryCode(tx: Transaction, principalId: string, hash: Buffer): Promise<boolean> {
  return (await tx.run(usedCode, principalId, hash)) > 0
}

export type ChallengePurpose = 'registration' | 'step-up'

const upsertChallenge = statement(
  `insert into passkey_challenges (tenant_id, principal_id, purpose, challenge, expires_at)
   values ($1, $2, $3, $4, $5::timestamptz)
   on conflict (tenant_id, principal_id, purpose) do update
     set challenge = excluded.challenge, expires_at = excluded.expires_at`,
)
const takenChallenge = statement<{ challenge: string; expiresAt: string }>(
  `delete from passkey_challenges where tenant_id = $1 and principal_id = $2 and purpose = $3
   returning challenge, expires_at as "expiresAt"`,
)
const deletedChallenges = statement('delete from passkey_challenges where tenant_id = $1 and principal_id = $2')

type NewChallenge = { principalId: string; purpose: ChallengePurpose; challenge: string; expiresAt: string }

export async function putChallenge(tx: Transaction, { principalId, purpose, challenge, expiresAt }: NewChallenge) {
  await tx.run(upsertChallenge, principalId, purpose, challenge, expiresAt)
}

/** Deletes the challenge and returns it, so that it counts once. Returns `undefined` if it has expired. */
export async function takeChallenge(
  tx: Transaction,
  { principalId, purpose, now }: { principalId: string; purpose: ChallengePurpose; now: number },
): Promise<string | undefined> {
  const row = await tx.row(takenChallenge, principalId, purpose)
  return row !== undefined && Date.parse(row.expiresAt) > now ? row.challenge : undefined
}

export async function deleteChallenges(tx: Transaction, principalId: string): Promise<void> {
  await tx.run(deletedChallenges, principalId)
}

const providerTitle = statement<{ title: string }>(
  `select i.title from external_accounts e join identity_providers i on i.tenant_id = $1 and i.id = e.provider_id
   where e.tenant_id = $1 and e.principal_id = $2`,
)

/** Returns the title of the identity provider of an account. Returns `undefined` for a local account. */
export async function findProviderTitle(handle: Handle, principalId: string): Promise<string | undefined> {
  return (await handle.row(providerTitle, principalId))?.title
}
