import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { signInLimits } from '@millwright/api/sign-in-security.ts'
import { getSignInPolicy } from '../../../platform/access/sign-in-policy-store.ts'
import { findAccess } from '../../../platform/access/store.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { wipe } from '../../../platform/secrets/cipher.ts'
import { sameBytes } from '../../../platform/secrets/secrets.ts'
import type { AnonymousCaller, Handlers } from '../../../platform/service.ts'
import { findTenantById, type Tenant } from '../../../platform/tenants/store.ts'
import { unavailabilityReason } from '../accounts/application.ts'
import type { IdentityContext } from '../context.ts'
import { enrolFactor } from '../factors/enrolment.ts'
import { lockFactors } from '../factors/factor-store.ts'
import {
  authenticationOptions,
  createChallenge,
  findRelyingParty,
  registrationOptions,
  type WebAuthnJson,
} from '../factors/passkeys.ts'
import { renewRecoveryCodes } from '../factors/recovery-codes.ts'
import { createTotpSecret, totpOwner, totpSetup } from '../factors/totp.ts'
import { checkFactor, findFactors, guardFactor, hasFactor } from '../factors/verify-factor.ts'
import { type AuthorizationRequest, queryOf, readAuthorizationRequest } from '../oauth/authorization-request.ts'
import { createOpaqueToken, hashOf, readOpaqueToken } from '../oauth/opaque-token.ts'
import { holdPassword } from '../store.ts'
import { completeSignIn, type ProvenPerson } from './complete-sign-in.ts'
import { formCookie, readCookie } from './cookie.ts'
import { fieldText, isForeignOrigin } from './form.ts'
import * as store from './pending-sign-in-store.ts'
import { type SecondFactorMessages, secondFactorMessages } from './second-factor-messages.ts'
import { enrolmentPage, recoveryCodesPage, restartPage, secondFactorPage } from './second-factor-page.ts'
import { languageFor, signInMessages } from './sign-in-messages.ts'
import { isSecondFactorRequired } from './sign-in-policy.ts'

/**
 * The second step of a sign-in. After the correct password, a pending sign-in waits for the second factor of the user. If
 * the user has none and the policy requires one, the user sets it up now. A pending sign-in is bound to the browser, to
 * the user and to the authorization request. It ends after `signInLimits.wrongCodes` wrong codes.
 */

const action = 'identity.secondFactor'
const longestPasskey = 16_384

type Headers = Readonly<Record<string, string | undefined>>

/** A pending sign-in, the token that names it, and the request that continues after it. */
type Step = {
  tenant: Tenant
  token: { text: string; hash: Buffer }
  pending: store.PendingSignIn
  request: AuthorizationRequest
  headers: Headers
  visitor: AnonymousCaller
}

export function secondFactorHandlers(shared: IdentityContext): Pick<Handlers<typeof identity>, 'secondFactor'> {
  return {
    async secondFactor({ body, headers }, visitor) {
      const language = languageFor(headers['accept-language'])
      const messages = secondFactorMessages[language]
      const restart = (status: number, message: string, query?: string) =>
        restartPage({ message, query }, { status, language })

      const step = await findStep(shared, { token: fieldText(body.pending), headers, visitor })
      if (step === undefined) return restart(400, messages.stale)
      const { tenant, pending } = step
      if (unavailabilityReason(tenant, 'ui') !== undefined)
        return restart(403, signInMessages[language].closed(tenant), pending.query)
      const complete = async (methods: string[]) =>
        (await completeSignIn(shared, personOf(step, methods))) ??
        restart(403, signInMessages[language].disabled, pending.query)

      const input = {
        isDone: body.step === 'done',
        code: fieldText(body.code),
        passkey: jsonOf(fieldText(body.passkey)),
      }
      const result = await answerStep(shared, step, input)
      if (result.next === 'complete') return complete(result.methods)
      if (result.next === 'codes') {
        const form = { ...formOf(step), recoveryCodes: result.recoveryCodes }
        return recoveryCodesPage(form, { status: 200, language })
      }
      if (result.next === 'stale') return restart(400, messages.stale, pending.query)
      if (result.next === 'restart') return restart(401, messages.tooMany, pending.query)
      if (result.next === 'again') return showStep(shared, step, { status: 401, error: result.error(messages) })
      const { wait } = result
      const error = signInMessages[language].slowed(wait)
      return showStep(shared, step, { status: 429, error, more: { 'retry-after': String(wait) } })
    },
  }
}

/**
 * Completes the sign-in of a person with the correct password, or shows the page for the second factor. Returns
 * `undefined` when the user is disabled, or when the password was changed during the sign-in.
 */
export async function continueAfterPassword(
  shared: IdentityContext,
  person: ProvenPerson & Required<Pick<ProvenPerson, 'passwordHash'>>,
) {
  const { tenant, principalId, passwordHash, request, headers, visitor } = person
  const scope = { tenantId: tenant.id }
  const { database } = shared.context
  const needsFactor = await database.read(scope, async (handle) => {
    const access = await findAccess(handle, principalId)
    if (access === undefined || access.principal.disabled) return false
    if (isSecondFactorRequired(await getSignInPolicy(handle), access)) return true
    return hasFactor(await findFactors(handle, principalId))
  })
  if (!needsFactor) return completeSignIn(shared, person)
  const token = createOpaqueToken(tenant.id)
  const now = Date.now()
  const pending = await database.transaction(scope, async (tx) => {
    if (!(await holdPassword(tx, principalId, passwordHash))) return undefined
    await store.insertPending(tx, {
      hash: token.hash,
      principalId,
      browser: browserOf(headers, shared.context.settings.baseUrl) ?? Buffer.alloc(0),
      query: queryOf(request),
      expiresAt: new Date(now + signInLimits.pendingSeconds * 1000).toISOString(),
    })
    return store.findPending(tx, token.hash, new Date(now).toISOString())
  })
  if (pending === undefined) return undefined
  return showStep(shared, { tenant, token, pending, request, headers, visitor }, { status: 200 })
}

/** Returns the pending sign-in of a form. Returns `undefined` if it has expired, or if another browser or site sent it. */
async function findStep(
  { context }: IdentityContext,
  { token: text, headers, visitor }: { token: string; headers: Headers; visitor: AnonymousCaller },
): Promise<Step | undefined> {
  const { database, settings } = context
  const token = readOpaqueToken(text)
  const browser = browserOf(headers, settings.baseUrl)
  const isForeign = isForeignOrigin(headers.origin, settings.baseUrl)
  if (token === undefined || browser === undefined || isForeign) return undefined
  const tenant = await database.reference((handle) => findTenantById(handle, token.tenantId))
  if (tenant === undefined) return undefined
  const now = new Date().toISOString()
  const pending = await database.read({ tenantId: tenant.id }, (handle) => store.findPending(handle, token.hash, now))
  if (pending === undefined || !sameBytes(pending.browser, browser)) return undefined
  const reading = readAuthorizationRequest(Object.fromEntries(new URLSearchParams(pending.query)), settings.baseUrl)
  if (reading.outcome !== 'accepted') return undefined
  return { tenant, token: { text, hash: token.hash }, pending, request: reading.request, headers, visitor }
}

function browserOf(headers: Headers, baseUrl: string): Buffer | undefined {
  const cookie = readCookie(headers.cookie, formCookie, baseUrl)
  return cookie === undefined ? undefined : hashOf(cookie)
}

type StepInput = { isDone: boolean; code: string; passkey: WebAuthnJson | undefined }

type StepResult =
  | { next: 'complete'; methods: string[] }
  | { next: 'codes'; recoveryCodes: string[] }
  | { next: 'again'; error: (messages: SecondFactorMessages) => string }
  | { next: 'slowed'; wait: number }
  /** The user must enter the password again, after too many wrong codes or because the pending sign-in ended. */
  | { next: 'restart' }
  | { next: 'stale' }

/** Checks what the user entered. Each code and each challenge counts once. */
async function answerStep(shared: IdentityContext, step: Step, input: StepInput): Promise<StepResult> {
  const { tenant, pending, visitor } = step
  const scope = { tenantId: tenant.id }
  const { database } = shared.context
  if (pending.methods.length > 0)
    return database.transaction(scope, (tx) => continueAfterEnrolment(tx, step, { isDone: input.isDone }))
  const principal = { id: pending.principalId, kind: 'user' as const, name: pending.name }
  const person = { tenantId: tenant.id, tenantName: tenant.name, principal, request: visitor.request }
  const check = () =>
    database.transaction(scope, async (tx) => {
      const result = await checkStep(shared, tx, { step, person, input })
      // This attempt does not count, because nothing was checked.
      if (result.next === 'stale') throw new Problem('not_found', 'The pending sign-in has ended')
      return { isCorrect: result.next === 'complete' || result.next === 'codes', result }
    })
  try {
    const outcome = await guardFactor(shared, { person, action }, check)
    return 'wait' in outcome ? { next: 'slowed', wait: outcome.wait } : outcome.result
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return { next: 'stale' }
    throw error
  }
}

/** Ends the pending sign-in of a user who saved the recovery codes. If the page was reloaded, shows new recovery codes. */
async function continueAfterEnrolment(
  tx: Transaction,
  { token, pending }: Step,
  { isDone }: { isDone: boolean },
): Promise<StepResult> {
  if ((await store.lockPending(tx, token.hash, new Date().toISOString())) === undefined) return { next: 'stale' }
  if (!isDone) return { next: 'codes', recoveryCodes: await renewRecoveryCodes(tx, pending.principalId) }
  await store.deletePending(tx, token.hash)
  return { next: 'complete', methods: pending.methods }
}

type Check = { step: Step; person: Parameters<typeof checkFactor>[2]['person']; input: StepInput }

async function checkStep(shared: IdentityContext, tx: Transaction, check: Check): Promise<StepResult> {
  const { step, person, input } = check
  const { hash } = step.token
  const now = Date.now()
  await lockFactors(tx, step.pending.principalId)
  const pending = await store.lockPending(tx, hash, new Date(now).toISOString())
  if (pending === undefined) return { next: 'stale' }
  const factors = await findFactors(tx, pending.principalId)
  const isFresh = pending.challengeExpiresAt !== null && Date.parse(pending.challengeExpiresAt) > now
  const challenge = isFresh ? (pending.challenge ?? undefined) : undefined
  const { code, passkey } = input
  const proof = passkey === undefined ? { code } : { passkey, challenge }
  // A user with a factor must use it. Otherwise the password alone would be enough to add another factor.
  if (hasFactor(factors)) {
    const outcome = await checkFactor(shared, tx, { person, proof, action })
    if (!outcome.isCorrect) return countWrong(tx, hash, input)
    await store.deletePending(tx, hash)
    return { next: 'complete', methods: outcome.methods }
  }
  const name = secondFactorMessages[languageFor(step.headers['accept-language'])].passkeyName
  const { sealedTotpSecret } = pending
  const outcome = await enrolFactor(shared, tx, { person, proof, sealedTotpSecret, passkeyName: name, action })
  if (outcome === undefined) return countWrong(tx, hash, input)
  await store.setPendingMethods(tx, hash, outcome.methods)
  return { next: 'codes', recoveryCodes: outcome.recoveryCodes }
}

async function countWrong(tx: Transaction, hash: Buffer, { passkey }: StepInput): Promise<StepResult> {
  if ((await store.countFailure(tx, hash)) >= signInLimits.wrongCodes) {
    await store.deletePending(tx, hash)
    return { next: 'restart' }
  }
  return { next: 'again', error: ({ wrong, passkeyRefused }) => (passkey === undefined ? wrong : passkeyRefused) }
}

type ShowOptions = { status: number; error?: string; more?: Record<string, string> }

/** Shows the page for the factors of the user, with a new challenge. */
async function showStep(shared: IdentityContext, step: Step, { status, error, more = {} }: ShowOptions) {
  const { safe, settings, database } = shared.context
  const { tenant, token, pending } = step
  const { principalId } = pending
  const { account, ...form } = { ...formOf(step), error }
  const options = { status, language: languageFor(step.headers['accept-language']), headers: more }
  const party = findRelyingParty(settings.baseUrl)
  const challenge = createChallenge(Date.now())
  const { factors, secret } = await database.transaction({ tenantId: tenant.id }, async (tx) => {
    const factors = await findFactors(tx, principalId)
    await store.setPendingChallenge(tx, token.hash, challenge)
    if (hasFactor(factors)) return { factors, secret: undefined }
    const sealed = (await store.findPending(tx, token.hash, new Date().toISOString()))?.sealedTotpSecret
    if (sealed) return { factors, secret: await safe.open(tx, sealed, totpOwner(principalId)) }
    const secret = createTotpSecret()
    await store.setPendingSecret(tx, token.hash, await safe.seal(tx, secret, totpOwner(principalId)))
    return { factors, secret }
  })
  const { passkeys, hasTotp } = factors
  if (secret === undefined) {
    const canUsePasskey = party !== undefined && passkeys.length > 0
    const passkeyOptions = canUsePasskey ? await authenticationOptions(party, challenge.challenge, passkeys) : undefined
    return secondFactorPage({ ...form, account, hasTotp, passkeyOptions }, options)
  }
  const setup = totpSetup(secret, { account, host: new URL(settings.baseUrl).hostname })
  wipe(secret)
  const owner = { principalId, account, displayName: pending.displayName || pending.name, passkeys }
  const passkeyOptions = party && (await registrationOptions(party, challenge.challenge, owner))
  return enrolmentPage({ ...form, account, setup, passkeyOptions }, options)
}

function formOf({ tenant, token, pending, request }: Step) {
  const account = `${pending.name}@${tenant.name}`
  return { account, pending: token.text, query: pending.query, returnsTo: request.redirectUri }
}

function personOf({ tenant, pending, request, headers, visitor }: Step, methods: string[]): ProvenPerson {
  const { principalId, name, passwordHash } = pending
  return { tenant, principalId, name, passwordHash, methods: ['pwd', ...methods], request, headers, visitor }
}

/** Parses the response of a passkey. Returns `undefined` for an empty text, and an empty object for invalid JSON. */
function jsonOf(text: string): WebAuthnJson | undefined {
  if (text === '') return undefined
  if (text.length > longestPasskey) return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as WebAuthnJson) : {}
  } catch {
    return {}
  }
}
