import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { emit } from '../../../platform/events/events.ts'
import { wipe } from '../../../platform/secrets/cipher.ts'
import type { IdentityContext } from '../context.ts'
import * as store from './factor-store.ts'
import { addCredential } from './own-factors.ts'
import { getRelyingParty, verifyRegistration } from './passkeys.ts'
import { renewRecoveryCodes } from './recovery-codes.ts'
import { readTotpCode, stepOf, totpOwner } from './totp.ts'
import type { FactorProof } from './verify-factor.ts'

type Enrolment = {
  person: Pick<Caller, 'principal' | 'request'>
  proof: FactorProof
  /** The secret that the page showed. */
  sealedTotpSecret: Buffer | null
  passkeyName: string
  action: string
}

/**
 * Adds the first factor of a user during the sign-in. The caller has locked the user and checked that the user has no
 * factor. Returns `undefined` for a wrong code or a refused passkey.
 */
export async function enrolFactor(
  shared: IdentityContext,
  tx: Transaction,
  enrolment: Enrolment,
): Promise<{ methods: string[]; recoveryCodes: string[] } | undefined> {
  const { person, proof, action } = enrolment
  const { id, name } = person.principal
  const isPasskey = 'passkey' in proof
  const isAdded = isPasskey ? await addPasskey(shared, tx, enrolment) : await addTotp(shared, tx, enrolment)
  if (!isAdded) return undefined
  const recoveryCodes = await renewRecoveryCodes(tx, id)
  const target = `user/${id}`
  await record(tx, person, { action, target, detail: { added: isPasskey ? 'passkey' : 'totp' } })
  await emit(tx, { type: 'identity.user.updated', subject: target, data: { name, changed: ['secondFactor'] } })
  return { methods: [isPasskey ? 'hwk' : 'otp', 'mfa'], recoveryCodes }
}

async function addTotp({ context: { safe } }: IdentityContext, tx: Transaction, enrolment: Enrolment) {
  const { sealedTotpSecret, proof } = enrolment
  const { id: principalId } = enrolment.person.principal
  const code = 'code' in proof ? readTotpCode(proof.code) : undefined
  if (sealedTotpSecret === null || code === undefined) return false
  const secret = await safe.open(tx, sealedTotpSecret, totpOwner(principalId))
  const step = stepOf(secret, code, Date.now())
  const sealedSecret = await safe.seal(tx, secret, totpOwner(principalId))
  wipe(secret)
  const now = new Date().toISOString()
  return step !== undefined && (await store.putConfirmedTotp(tx, { principalId, sealedSecret, now, step }))
}

async function addPasskey({ context: { settings } }: IdentityContext, tx: Transaction, enrolment: Enrolment) {
  const { proof, passkeyName: name } = enrolment
  const { id: principalId } = enrolment.person.principal
  if (!('passkey' in proof)) return false
  try {
    const party = getRelyingParty(settings.baseUrl)
    const credential = await verifyRegistration({ party, challenge: proof.challenge, response: proof.passkey })
    await addCredential(tx, { principalId, name, ...credential })
    return true
  } catch (error) {
    if (error instanceof Problem && ['passkey_refused', 'conflict', 'already_exists'].includes(error.code)) return false
    throw error
  }
}
