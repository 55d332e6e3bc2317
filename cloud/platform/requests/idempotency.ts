import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../access/caller.ts'
import type { Transaction } from '../database/database.ts'
import type { MigrationSource } from '../database/migrations.ts'
import { limits } from '../limits.ts'
import type { LocalOperation } from '../operation.ts'
import { Answer, type Context, JsonText, type Visitor } from '../service.ts'
import type { RawInput } from '../validation.ts'
import { findRequest, type KeptRequest, keepRequest } from './store.ts'

export const requestsMigrations: MigrationSource = {
  module: 'requests',
  folder: new URL('./migrations/', import.meta.url),
}

const purpose = 'idempotent requests'

/**
 * `Idempotency-Key` on every POST: the effect and the remembered answer are one transaction, so that a request that is
 * sent again after a crash is either answered as before or done for the first time, never done twice.
 */
export function idempotent(
  local: LocalOperation,
  { database, secrets }: Pick<Context, 'database' | 'secrets'>,
): LocalOperation {
  if (local.operation.method !== 'POST' || local.operation.access === 'public') return local
  return {
    ...local,
    async invoke(input, caller) {
      const key = input.headers?.['idempotency-key']
      if (key === undefined || !isCaller(caller)) return local.invoke(input, caller)
      requireKey(key)
      const place = { principalId: caller.principal.id, key, hours: limits.idempotencyHours }
      const content = describe(local, input)
      const before = await database.read(caller, (handle) => findRequest(handle, place))
      if (before !== undefined) return repeated(before, secrets.isMac(purpose, content, before.fingerprint))
      const fingerprint = secrets.mac(purpose, content)
      const work = async (tx: Transaction) => {
        const answer = await local.invoke(input, { ...caller, transaction: tx })
        if (await keepRequest(tx, place, kept(local, answer, fingerprint))) return answer
        throw new Problem('request_in_progress', 'A request with this key is being answered: try again', {
          retryAfter: 1,
        })
      }
      // A peer may ask from within such a transaction, and must not wait for a turn behind it.
      return caller.byPeer === true ? database.transaction(caller, work) : database.enclosing(caller, work)
    },
  }
}

function isCaller(caller: Caller | Visitor): caller is Caller {
  return 'principal' in caller
}

function requireKey(key: string): void {
  if (key.length > 0 && key.length <= limits.idempotencyKeyCharacters && /^[\x21-\x7e ]+$/.test(key)) return
  throw new Problem(
    'invalid_header',
    `An Idempotency-Key has 1 to ${limits.idempotencyKeyCharacters} printable characters`,
  )
}

/** What makes two requests the same. It may hold a password, so only a keyed hash of it is stored. */
function describe(local: LocalOperation, { params, query, body }: RawInput): string {
  try {
    return JSON.stringify([local.contract.name, local.name, params, query, body])
  } catch {
    // What was read as JSON can be written as JSON, except that writing gives up at a depth that reading does not.
    throw new Problem('invalid_body', 'The body is nested too deeply')
  }
}

function kept(local: LocalOperation, answer: Answer, fingerprint: Buffer): KeptRequest {
  const secret = local.operation.answersSecret === true
  const body = secret || answer.body === undefined ? null : textOf(answer.body)
  return { fingerprint, status: secret ? 0 : answer.status, headers: secret ? {} : answer.headers, body }
}

function textOf(body: unknown): string {
  return body instanceof JsonText ? body.text : JSON.stringify(body)
}

function repeated(before: KeptRequest, isSame: boolean): Answer {
  if (!isSame) {
    throw new Problem(
      'idempotency_key_reused',
      'Another request was made with this key: use a new key for a new request',
    )
  }
  if (before.status === 0) {
    throw new Problem(
      'already_answered',
      'The answer held a secret, which is shown once: if it was lost, make a new one',
    )
  }
  return new Answer(before.status, before.body === null ? undefined : new JsonText(before.body), before.headers)
}
