import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { wipe } from '../../../platform/secrets/cipher.ts'
import type { IdentityContext } from '../context.ts'
import * as store from './factor-store.ts'
import {
  authenticationOptions,
  createChallenge,
  findRelyingParty,
  getRelyingParty,
  verifyAuthentication,
  type WebAuthnJson,
} from './passkeys.ts'
import { recoveryCodeHash } from './recovery-codes.ts'
import { readTotpCode, stepOf, totpOwner } from './totp.ts'

/** The second factors of a user. Recovery codes replace a lost factor. Alone they are not a factor. */
export type Factors = { hasTotp: boolean; passkeys: store.PasskeyRow[]; recoveryCodes: number }

export async function findFactors(handle: Handle, principalId: string): Promise<Factors> {
  const totp = await store.findTotp(handle, principalId)
  return {
    hasTotp: totp !== undefined && totp.confirmedAt !== null,
    passkeys: await store.listPasskeys(handle, principalId),
    recoveryCodes: await store.countRecoveryCodes(handle, principalId),
  }
}

export function hasFactor({ hasTotp, passkeys }: Factors): boolean {
  return hasTotp || passkeys.length > 0
}

type PasskeyProof = { passkey: WebAuthnJson; challenge: string | undefined }
/** The proof of a second factor: a code of the authenticator app, a recovery code, or the response of a passkey. */
export type FactorProof = { code: string } | PasskeyProof

/** The result of a check. The methods are values of RFC 8176. */
export type FactorOutcome = { isCorrect: true; methods: string[] } | { isCorrect: false; problem: Problem }

type Person = Pick<Caller, 'tenantId' | 'tenantName' | 'principal' | 'request'>

/**
 * Checks a second factor and marks it as used, in a transaction that the caller must commit, also after a wrong proof. A
 * code and a challenge count once.
 */
export async function checkFactor(
  { context }: IdentityContext,
  tx: Transaction,
  { person, proof, action }: { person: Person; proof: FactorProof; action: string },
): Promise<FactorOutcome> {
  const { id: principalId } = person.principal
  if ('passkey' in proof) return checkPasskey(context.settings.baseUrl, tx, { principalId, proof })
  const totpCode = readTotpCode(proof.code)
  const recoveryCode = recoveryCodeHash(proof.code)
  if (totpCode !== undefined) {
    const totp = await store.findTotp(tx, principalId)
    if (totp === undefined || totp.confirmedAt === null) return wrongCode()
    const secret = await context.safe.open(tx, totp.sealedSecret, totpOwner(principalId))
    const step = stepOf(secret, totpCode, Date.now())
    wipe(secret)
    return step !== undefined && (await store.useTotpStep(tx, principalId, step)) ? proven('otp') : wrongCode()
  }
  if (recoveryCode === undefined || !(await store.useRecoveryCode(tx, principalId, recoveryCode))) return wrongCode()
  const detail = { recoveryCode: 'used', left: await store.countRecoveryCodes(tx, principalId) }
  await record(tx, person, { action, target: `user/${principalId}`, detail })
  return proven('otp')
}

async function checkPasskey(
  baseUrl: string,
  tx: Transaction,
  { principalId, proof }: { principalId: string; proof: PasskeyProof },
): Promise<FactorOutcome> {
  try {
    const party = getRelyingParty(baseUrl)
    const passkeys = await store.listPasskeys(tx, principalId)
    const ceremony = { party, challenge: proof.challenge, response: proof.passkey }
    const use = await verifyAuthentication(ceremony, passkeys)
    const isUsed = await store.usePasskey(tx, { principalId, ...use, now: new Date().toISOString() })
    if (isUsed) return proven('hwk')
    return { isCorrect: false, problem: new Problem('passkey_refused', 'The counter of the passkey did not increase') }
  } catch (error) {
    if (error instanceof Problem && ['passkey_refused', 'conflict'].includes(error.code))
      return { isCorrect: false, problem: error }
    throw error
  }
}

function proven(method: 'otp' | 'hwk'): FactorOutcome {
  return { isCorrect: true, methods: [method, 'mfa'] }
}

function wrongCode(): FactorOutcome {
  const detail =
    'The code is wrong or was already used. Enter the current code of your authenticator app, or an unused recovery code'
  return { isCorrect: false, problem: new Problem('wrong_code', detail) }
}

/**
 * Runs a check of a second factor under the limits for wrong passwords. Wrong codes have their own count, which a
 * correct password does not reset. Otherwise an attacker with the password could guess codes without limit.
 */
export async function guardFactor<Outcome extends { isCorrect: boolean }>(
  { guard }: IdentityContext,
  { person, action }: { person: Person; action: string },
  check: () => Promise<Outcome>,
): Promise<Outcome | { wait: number }> {
  const { tenantId, tenantName, request } = person
  const principal = { id: person.principal.id, kind: 'user' as const, name: person.principal.name }
  const attempt = { subject: `code ${principal.name}@${tenantName}`, address: request.address }
  const outcome = await guard.checkPassword({ attempt, action, requestId: request.id, tenantId }, async () => {
    const result = await check()
    return { isCorrect: result.isCorrect, tenantId, principal, result }
  })
  return 'wait' in outcome ? outcome : outcome.result
}

export function tooManyCodes(seconds: number): Problem {
  return new Problem('too_many_requests', 'Too many wrong codes. Wait before you try again.', { retryAfter: seconds })
}

export type FactorInput = { code?: string | undefined; passkey?: WebAuthnJson | undefined }

/**
 * Checks a second factor with which a signed-in user confirms their identity, and returns the methods (RFC 8176). Throws
 * `wrong_code`, `passkey_refused` or `too_many_requests`. Counts wrong proofs, and records them in the audit trail.
 */
export async function verifyFactor(
  shared: IdentityContext,
  caller: Person,
  { code, passkey, action }: FactorInput & { action: string },
): Promise<string[]> {
  const { id: principalId } = caller.principal
  // The proof counts as used even if the request fails later, so this is not the transaction of the request.
  const scope = { tenantId: caller.tenantId }
  const outcome = await guardFactor(shared, { person: caller, action }, () =>
    shared.context.database.transaction(scope, async (tx) => {
      const now = Date.now()
      const proof: FactorProof =
        passkey === undefined
          ? { code: code ?? '' }
          : { passkey, challenge: await store.takeChallenge(tx, { principalId, purpose: 'step-up', now }) }
      return checkFactor(shared, tx, { person: caller, proof, action })
    }),
  )
  if ('wait' in outcome) throw tooManyCodes(outcome.wait)
  if (!outcome.isCorrect) throw outcome.problem
  return outcome.methods
}

/**
 * Creates the options with which a signed-in user confirms their identity with a passkey. Returns `undefined` if the user
 * has no passkey, or if browsers allow no passkeys at the base URL.
 */
export async function startPasskeyCheck(
  { context }: IdentityContext,
  tx: Transaction,
  principalId: string,
): Promise<WebAuthnJson | undefined> {
  const party = findRelyingParty(context.settings.baseUrl)
  const passkeys = await store.listPasskeys(tx, principalId)
  if (party === undefined || passkeys.length === 0) return undefined
  const challenge = createChallenge(Date.now())
  await store.putChallenge(tx, { principalId, purpose: 'step-up', ...challenge })
  return authenticationOptions(party, challenge.challenge, passkeys)
}
