import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { type Passkey, signInLimits } from '@millwright/api/sign-in-security.ts'
import { v7 } from 'uuid'
import type { Caller } from '../../../platform/access/caller.ts'
import { getSignInPolicy } from '../../../platform/access/sign-in-policy-store.ts'
import { requireRecentSignIn, stepUpRequired } from '../../../platform/access/step-up.ts'
import { changeAccess, findAccess } from '../../../platform/access/store.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { emit } from '../../../platform/events/events.ts'
import { wipe } from '../../../platform/secrets/cipher.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'
import { isSecondFactorRequired } from '../sign-in/sign-in-policy.ts'
import { endSessionsOf, findPassword, findSessionById, setAuthenticated } from '../store.ts'
import * as store from './factor-store.ts'
import { createChallenge, getRelyingParty, registrationOptions, verifyRegistration } from './passkeys.ts'
import { firstRecoveryCodes, renewRecoveryCodes } from './recovery-codes.ts'
import { createTotpSecret, readTotpCode, stepOf, totpOwner, totpSetup } from './totp.ts'
import { type Factors, findFactors, guardFactor, hasFactor, tooManyCodes } from './verify-factor.ts'

type Operations =
  | 'readAccountSecurity'
  | 'startTotp'
  | 'confirmTotp'
  | 'deleteTotp'
  | 'startPasskey'
  | 'addPasskey'
  | 'renamePasskey'
  | 'deletePasskey'
  | 'createRecoveryCodes'

/** How recently users must have proved their identity before they change their factors. The policy cannot change it. */
const changeMinutes = 15

/** Handlers for the second factors of the caller. */
export function ownFactorHandlers(shared: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  const { database, safe, settings } = shared.context
  return {
    async readAccountSecurity(_request, caller) {
      const { id } = caller.principal
      return database.read(caller, async (handle) => {
        const { hasTotp, passkeys, recoveryCodes } = await findFactors(handle, id)
        const totp = hasTotp ? await store.findTotp(handle, id) : undefined
        const data = {
          hasPassword: (await findPassword(handle, id)) !== undefined,
          provider: (await store.findProviderTitle(handle, id)) ?? null,
          isSecondFactorRequired: await isRequired(handle, id),
          totpTimestamp: totp?.confirmedAt ?? null,
          passkeys: passkeys.map(passkeyOf),
          recoveryCodes,
        }
        return { data }
      })
    },

    async startTotp(_request, caller) {
      const { principal, tenantName } = caller
      const secret = createTotpSecret()
      await database.transaction(caller, async (tx) => {
        await beginChange(tx, caller)
        const sealedSecret = await safe.seal(tx, secret, totpOwner(principal.id))
        const totp = { principalId: principal.id, sealedSecret, now: new Date().toISOString() }
        if (!(await store.putTotp(tx, totp))) throw hasTotpAlready()
      })
      const host = new URL(settings.baseUrl).hostname
      const setup = totpSetup(secret, { account: `${principal.name}@${tenantName}`, host })
      wipe(secret)
      return { data: setup }
    },

    async confirmTotp({ body }, caller) {
      const { id } = caller.principal
      const action = 'identity.confirmTotp'
      const confirm = async (tx: Transaction): Promise<{ isCorrect: boolean; recoveryCodes: string[] }> => {
        await beginChange(tx, caller)
        const step = await confirmedStep(shared, tx, { principalId: id, code: body.data.code })
        if (step === undefined) return { isCorrect: false, recoveryCodes: [] }
        await store.confirmTotp(tx, { principalId: id, now: new Date().toISOString(), step })
        await markProven(tx, caller, 'otp')
        await noteChange(tx, caller, { action })
        return { isCorrect: true, recoveryCodes: await firstRecoveryCodes(tx, id) }
      }
      const outcome = await guardFactor(shared, { person: caller, action }, () => database.transaction(caller, confirm))
      if ('wait' in outcome) throw tooManyCodes(outcome.wait)
      if (!outcome.isCorrect)
        throw new Problem(
          'wrong_code',
          'The code is wrong. Check the time of your phone, and enter the current code of the authenticator app',
        )
      return { data: { recoveryCodes: outcome.recoveryCodes } }
    },

    async deleteTotp(_request, caller) {
      await database.transaction(caller, async (tx) => {
        const factors = await beginRemoval(tx, caller)
        if (!factors.hasTotp) throw new Problem('not_found', 'Your account has no authenticator app')
        await store.deleteTotp(tx, caller.principal.id)
        await endRemoval(tx, caller, { action: 'identity.deleteTotp' })
      })
      return answer(204)
    },

    async startPasskey(_request, caller) {
      const { principal, tenantName } = caller
      const party = getRelyingParty(settings.baseUrl)
      const challenge = createChallenge(Date.now())
      const passkeys = await database.transaction(caller, async (tx) => {
        const factors = await beginChange(tx, caller)
        requireFewPasskeys(factors)
        await store.putChallenge(tx, { principalId: principal.id, purpose: 'registration', ...challenge })
        return factors.passkeys
      })
      const account = `${principal.name}@${tenantName}`
      const owner = { principalId: principal.id, account, displayName: principal.name, passkeys }
      return { data: await registrationOptions(party, challenge.challenge, owner) }
    },

    async addPasskey({ body }, caller) {
      const { id: principalId } = caller.principal
      const { name, response } = body.data
      const party = getRelyingParty(settings.baseUrl)
      // The challenge counts once, also if the request fails later, so this is not the transaction of the request.
      const challenge = await database.transaction({ tenantId: caller.tenantId }, async (tx) => {
        await beginChange(tx, caller)
        return store.takeChallenge(tx, { principalId, purpose: 'registration', now: Date.now() })
      })
      const credential = await verifyRegistration({ party, challenge, response })
      const added = await database.transaction(caller, async (tx) => {
        requireFewPasskeys(await beginChange(tx, caller))
        const passkey = await addCredential(tx, { principalId, name, ...credential })
        await markProven(tx, caller, 'hwk')
        await noteChange(tx, caller, { action: 'identity.addPasskey', detail: { passkey: passkey.id, name } })
        return { passkey: passkeyOf(passkey), recoveryCodes: await firstRecoveryCodes(tx, principalId) }
      })
      return answer(201, { data: added })
    },

    async renamePasskey({ params: { id }, body }, caller) {
      const { name } = body.data
      const passkey = await database.transaction(caller, async (tx) => {
        const renamed = await store.renamePasskey(tx, { principalId: caller.principal.id, id, name })
        if (renamed === undefined) throw noPasskey(id)
        await noteChange(tx, caller, { action: 'identity.renamePasskey', detail: { passkey: id, name } })
        return renamed
      })
      return { data: passkeyOf(passkey) }
    },

    async deletePasskey({ params: { id } }, caller) {
      await database.transaction(caller, async (tx) => {
        await beginRemoval(tx, caller)
        if (!(await store.deletePasskey(tx, caller.principal.id, id))) throw noPasskey(id)
        await endRemoval(tx, caller, { action: 'identity.deletePasskey', detail: { passkey: id } })
      })
      return answer(204)
    },

    async createRecoveryCodes(_request, caller) {
      const recoveryCodes = await database.transaction(caller, async (tx) => {
        if (!hasFactor(await beginChange(tx, caller)))
          throw new Problem(
            'conflict',
            'Your account has no second factor. Add an authenticator app or a passkey first',
          )
        await noteChange(tx, caller, { action: 'identity.createRecoveryCodes' })
        return renewRecoveryCodes(tx, caller.principal.id)
      })
      return { data: { recoveryCodes } }
    },
  }
}

async function isRequired(handle: Handle, principalId: string): Promise<boolean> {
  const access = await findAccess(handle, principalId)
  return access !== undefined && isSecondFactorRequired(await getSignInPolicy(handle), access)
}

/**
 * Starts a change of the caller's factors and returns the factors. Only local accounts have factors. A caller with a
 * password or a factor must have proved their identity recently. A caller with a factor must have used a factor in the
 * session. Otherwise an attacker who signed in with the password before the user added the factor could remove it.
 */
async function beginChange(tx: Transaction, caller: Caller): Promise<Factors> {
  const { id, kind } = caller.principal
  if (kind !== 'user')
    throw new Problem(
      'conflict',
      'Only local accounts of people have a second factor. An identity provider checks the second factor of its own accounts',
    )
  await store.lockFactors(tx, id)
  const factors = await findFactors(tx, id)
  if (hasFactor(factors) || (await findPassword(tx, id)) !== undefined) requireRecentSignIn(caller, changeMinutes)
  await requireProven(tx, caller, factors)
  return factors
}

/** Requires that a caller with a factor has used a factor in the session. */
export async function requireProven(tx: Transaction, { token }: Caller, factors: Factors): Promise<void> {
  if (token?.sessionId === undefined || !hasFactor(factors)) return
  const session = await findSessionById(tx, token.sessionId)
  if (session?.methods.includes('mfa') === true) return
  throw stepUpRequired('You signed in without your second factor', 0)
}

/** Stores that the caller proved a new factor in the current session. */
async function markProven(tx: Transaction, { token }: Caller, method: 'otp' | 'hwk'): Promise<void> {
  const session = token?.sessionId === undefined ? undefined : await findSessionById(tx, token.sessionId)
  if (session === undefined) return
  const methods = [...new Set([...session.methods, method, 'mfa'])]
  await setAuthenticated(tx, session.id, { now: session.authenticatedAt, methods })
}

async function beginRemoval(tx: Transaction, caller: Caller): Promise<Factors> {
  await changeAccess(tx)
  return beginChange(tx, caller)
}

/** Ends the removal of a factor: without a factor there are no recovery codes. All other sessions end. */
async function endRemoval(tx: Transaction, caller: Caller, change: FactorChange): Promise<void> {
  const { id } = caller.principal
  if (!hasFactor(await findFactors(tx, id))) {
    if (await isRequired(tx, id))
      throw new Problem(
        'second_factor_required',
        'The sign-in policy requires a second factor. Add another one before you remove this one',
      )
    await store.replaceRecoveryCodes(tx, id, [])
  }
  const ids = await endSessionsOf(tx, id, { except: caller.token?.sessionId })
  await revokeTokens(tx, { principalId: id, ids })
  await noteChange(tx, caller, change)
}

type FactorChange = { action: string; detail?: Record<string, unknown> }

async function noteChange(tx: Transaction, caller: Caller, { action, detail = {} }: FactorChange): Promise<void> {
  const target = `user/${caller.principal.id}`
  await record(tx, caller, { action, target, detail })
  const data = { name: caller.principal.name, changed: ['secondFactor'] }
  await emit(tx, { type: 'identity.user.updated', subject: target, data })
}

/** Returns the time step of the code with which the user confirms a new secret. Returns `undefined` for a wrong code. */
async function confirmedStep(
  { context: { safe } }: IdentityContext,
  tx: Transaction,
  { principalId, code }: { principalId: string; code: string },
): Promise<number | undefined> {
  const totp = await store.findTotp(tx, principalId)
  const now = Date.now()
  if (totp !== undefined && totp.confirmedAt !== null) throw hasTotpAlready()
  if (totp === undefined || now - Date.parse(totp.createdAt) > signInLimits.pendingSeconds * 1000) {
    throw new Problem(
      'conflict',
      'There is no authenticator app to confirm, or its secret has expired. Start again with POST /iam/v1/account/totp',
    )
  }
  const secret = await safe.open(tx, totp.sealedSecret, totpOwner(principalId))
  const step = stepOf(secret, readTotpCode(code) ?? '', now)
  wipe(secret)
  return step
}

type NewPasskey = Pick<
  store.NewPasskey,
  'principalId' | 'name' | 'credentialId' | 'publicKey' | 'signCount' | 'transports'
>

/** Stores a passkey. Throws `already_exists` if a user of the tenant has it. */
export async function addCredential(tx: Transaction, passkey: NewPasskey): Promise<store.PasskeyRow> {
  const added = await store.insertPasskey(tx, { ...passkey, id: v7(), now: new Date().toISOString() })
  if (added === undefined) throw new Problem('already_exists', 'This passkey is already registered')
  return added
}

function requireFewPasskeys({ passkeys }: Factors): void {
  if (passkeys.length >= signInLimits.passkeys)
    throw new Problem('conflict', `An account has at most ${signInLimits.passkeys} passkeys. Remove one first`)
}

function hasTotpAlready(): Problem {
  return new Problem('conflict', 'Your account already has an authenticator app. Remove it before you add another one')
}

function noPasskey(id: string): Problem {
  return new Problem('not_found', `Your account has no passkey ${id}`)
}

function passkeyOf({ id, name, createdAt, lastUsedAt }: store.PasskeyRow): Passkey {
  return { id, name, createdTimestamp: createdAt, lastUseTimestamp: lastUsedAt }
}
