import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../access/caller.ts'
import type { Transaction } from '../database/database.ts'
import { newId } from '../database/id.ts'
import type { MigrationSource } from '../database/migrations.ts'
import { limits } from '../limits.ts'
import type { LocalOperation } from '../operation.ts'
import { type AnonymousCaller, Answer, type Context, JsonText } from '../service.ts'
import type { RawInput } from '../validation.ts'
import {
  claimRequest,
  completeRequest,
  type EarlierRequest,
  findRequest,
  keepRequest,
  releaseRequest,
  renewClaim,
  type StoredRequest,
} from './store.ts'

export const requestsMigrations: MigrationSource = {
  module: 'requests',
  folder: new URL('./migrations/', import.meta.url),
}

const purpose = 'idempotent requests'
const hourMs = 3_600_000

type Parts = Pick<Context, 'database' | 'secrets' | 'log'>

/**
 * Implements `Idempotency-Key` for every POST. There are two forms:
 *
 * - An operation that does not wait runs in one transaction, which also stores its response. After a crash, a repeated
 *   request either gets the stored response or runs for the first time. It never runs twice.
 * - An operation that can wait for an event (`waits` in its contract) or for the validation worker
 *   (`validatesInWorker`) holds neither a transaction nor a connection while it waits. One short transaction claims the
 *   key, and another one stores the response. The process renews the claim while the operation runs. After a crash, the
 *   claim expires, so that it does not block the key.
 *
 * A call of another service to an operation with `validatesInWorker` uses the first form. After a crash, the other
 * service can repeat the call at once, because no claim has to expire. The pool limits the connections of the tenant.
 */
export function idempotent(local: LocalOperation, parts: Parts): LocalOperation {
  if (local.operation.method !== 'POST' || local.operation.access === 'public') return local
  const { database, secrets } = parts
  const { waits, validatesInWorker } = local.operation
  return {
    ...local,
    async invoke(input, caller) {
      const key = input.headers?.['idempotency-key']
      if (key === undefined || !isCaller(caller)) return local.invoke(input, caller)
      requireKey(key)
      const storedSince = new Date(Date.now() - limits.idempotencyHours * hourMs)
      const place = { principalId: caller.principal.id, key, storedSince }
      const content = describe(local, input)
      const previous = async () => {
        const earlier = await database.read(caller, (handle) => findRequest(handle, place))
        return earlier === undefined
          ? undefined
          : repeated(earlier, secrets.isMac(purpose, content, earlier.fingerprint))
      }
      const answered = await previous()
      if (answered !== undefined) return answered
      const fingerprint = secrets.mac(purpose, content)
      const request = { local, input, caller, place, fingerprint, previous }
      if (waits === true) return runClaimed(parts, request)
      if (validatesInWorker === true && caller.byPeer !== true)
        return runClaimed(parts, { ...request, input: withoutPreference(input) })
      return runInTransaction(parts, request)
    },
  }
}

type KeyedRequest = {
  local: LocalOperation
  input: RawInput
  caller: Caller
  place: { principalId: string; key: string; storedSince: Date }
  fingerprint: Buffer
  /**
   * Returns the response to an earlier request with the key. Throws if that request is in progress or differs from this
   * one.
   */
  previous: () => Promise<Answer | undefined>
}

function runInTransaction({ database }: Parts, request: KeyedRequest): Promise<Answer> {
  const { local, input, caller, place, fingerprint, previous } = request
  const work = async (tx: Transaction) => {
    const answer = await local.invoke(input, { ...caller, transaction: tx })
    if (await keepRequest(tx, place, storedRequest(local, answer, fingerprint))) return answer
    throw inProgress()
  }
  // Another service may call while the first request already holds an enclosing transaction. The call must not wait for
  // a second enclosing transaction.
  const running = caller.byPeer === true ? database.transaction(caller, work) : database.enclosing(caller, work)
  return running.catch(async (error: unknown) => {
    // A concurrent request with the same key may have been committed first, in this process or in another one. Then this
    // request fails because of the effect of that request, and gets its response.
    if (!(error instanceof Problem) || error.status >= 500) throw error
    const answered = await previous()
    if (answered === undefined) throw error
    return answered
  })
}

async function runClaimed({ database, log }: Parts, request: KeyedRequest): Promise<Answer> {
  const { local, input, caller, place, fingerprint, previous } = request
  const end = () => new Date(Date.now() + limits.idempotencyClaimMs)
  const claim = { id: newId(), until: end() }
  const isClaimed = await database.transaction(caller, (tx) => claimRequest(tx, place, { fingerprint, claim }))
  if (!isClaimed) {
    const answered = await previous()
    if (answered !== undefined) return answered
    throw inProgress()
  }
  const note = (work: (tx: Transaction) => Promise<void>) =>
    database
      .transaction(caller, work)
      .catch((error: unknown) =>
        log.warn({ error }, 'The response of a request with an Idempotency-Key could not be stored'),
      )
  const renewal = setInterval(() => {
    // The next renewal follows soon after a failed one.
    database
      .transaction(caller, (tx) => renewClaim(tx, place, { id: claim.id, until: end() }))
      .catch((error: unknown) => log.warn({ error }, 'The claim of an Idempotency-Key could not be renewed'))
  }, limits.idempotencyRenewMs).unref()
  try {
    const answer = await local.invoke(input, caller)
    await note((tx) => completeRequest(tx, place, { claim, answer: storedRequest(local, answer, fingerprint) }))
    return answer
  } catch (error) {
    await note((tx) => releaseRequest(tx, place, claim))
    throw error
  } finally {
    clearInterval(renewal)
  }
}

/**
 * Removes the `Prefer` header. A write with a key is then accepted and answered at once, so that a repeated request
 * gets the same response.
 */
function withoutPreference({ headers: { prefer: _, ...headers } = {}, ...input }: RawInput): RawInput {
  return { ...input, headers }
}

function inProgress(): Problem {
  return new Problem('request_in_progress', 'Another request with this Idempotency-Key is in progress. Retry later', {
    retryAfter: 1,
  })
}

function isCaller(caller: Caller | AnonymousCaller): caller is Caller {
  return 'principal' in caller
}

function requireKey(key: string): void {
  if (key.length > 0 && key.length <= limits.idempotencyKeyCharacters && /^[\x21-\x7e ]+$/.test(key)) return
  throw new Problem(
    'invalid_header',
    `Idempotency-Key must have 1 to ${limits.idempotencyKeyCharacters} printable ASCII characters`,
  )
}

/** Returns the content that identifies a request. It may contain a password, so only a keyed hash of it is stored. */
function describe(local: LocalOperation, { params, query, body }: RawInput): string {
  return JSON.stringify([local.contract.name, local.name, params, query, body])
}

function storedRequest(local: LocalOperation, answer: Answer, fingerprint: Buffer): StoredRequest {
  const secret = local.operation.answersSecret === true
  const body = secret || answer.body === undefined ? null : textOf(answer.body)
  return { fingerprint, status: secret ? 0 : answer.status, headers: secret ? {} : answer.headers, body }
}

function textOf(body: unknown): string {
  return body instanceof JsonText ? body.text : JSON.stringify(body)
}

function repeated(before: EarlierRequest, isSame: boolean): Answer {
  if (!isSame) {
    throw new Problem(
      'idempotency_key_reused',
      'This Idempotency-Key was used for a different request. Use a new key for each new request',
    )
  }
  if (before.inProgress) throw inProgress()
  if (before.status === 0) {
    throw new Problem(
      'already_answered',
      'The request with this Idempotency-Key was already answered. Its response contained a secret, which is shown only once. If the secret is lost, create a new one',
    )
  }
  return new Answer(before.status, before.body === null ? undefined : new JsonText(before.body), before.headers)
}
