import { type Handle, violatedConstraint } from '../database/database.ts'
import { statement } from '../database/statement.ts'

export type StoredRequest = {
  fingerprint: Buffer
  status: number
  headers: Record<string, string | string[]>
  body: string | null
}

/** An earlier request with the same key. It has a response, or is still in progress. */
export type EarlierRequest = StoredRequest & { inProgress: boolean }

const find = statement<EarlierRequest>(
  `select fingerprint, status, headers, body, claim_id is not null as "inProgress" from idempotent_requests
   where tenant_id = $1 and principal_id = $2 and key = $3 and created_at > $4 and (claim_id is null or claimed_until > $5)`,
)

const forget = statement(
  `delete from idempotent_requests
   where tenant_id = $1 and principal_id = $2 and key = $3 and (created_at <= $4 or claimed_until <= $5)`,
)

const insert = statement(
  `insert into idempotent_requests (tenant_id, principal_id, key, fingerprint, status, headers, body)
   values ($1, $2, $3, $4, $5, $6, $7)`,
)

const claim = statement(
  `insert into idempotent_requests (tenant_id, principal_id, key, fingerprint, status, claim_id, claimed_until)
   values ($1, $2, $3, $4, 0, $5, $6) on conflict (tenant_id, principal_id, key) do nothing`,
)

const complete = statement(
  `update idempotent_requests set status = $5, headers = $6, body = $7, claim_id = null, claimed_until = null
   where tenant_id = $1 and principal_id = $2 and key = $3 and claim_id = $4`,
)

const renew = statement(
  `update idempotent_requests set claimed_until = $5
   where tenant_id = $1 and principal_id = $2 and key = $3 and claim_id = $4`,
)

const release = statement(
  'delete from idempotent_requests where tenant_id = $1 and principal_id = $2 and key = $3 and claim_id = $4',
)

/** The key of a request. Requests that were stored before `storedSince` are ignored. */
type Key = { principalId: string; key: string; storedSince: Date }

export function findRequest(
  handle: Handle,
  { principalId, key, storedSince }: Key,
): Promise<EarlierRequest | undefined> {
  return handle.row(find, principalId, key, storedSince, new Date())
}

/** Stores a request with its response. Returns false if another request with this key was stored first. */
export async function keepRequest(
  handle: Handle,
  { principalId, key, storedSince }: Key,
  { fingerprint, status, headers, body }: StoredRequest,
): Promise<boolean> {
  try {
    await handle.run(forget, principalId, key, storedSince, new Date())
    await handle.run(insert, principalId, key, fingerprint, status, JSON.stringify(headers), body)
    return true
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error
    return false
  }
}

export type Claim = { id: string; until: Date }

/** Claims the key for a request. Returns false if another request with this key is in progress or has a response. */
export async function claimRequest(
  handle: Handle,
  { principalId, key, storedSince }: Key,
  { fingerprint, claim: { id, until } }: { fingerprint: Buffer; claim: Claim },
): Promise<boolean> {
  await handle.run(forget, principalId, key, storedSince, new Date())
  return (await handle.run(claim, principalId, key, fingerprint, id, until)) === 1
}

/** Renews the claim of a request that still runs. */
export async function renewClaim(
  handle: Handle,
  { principalId, key }: Key,
  { id, until }: { id: string; until: Date },
): Promise<void> {
  await handle.run(renew, principalId, key, id, until)
}

/**
 * Stores the response of a claimed request. Does nothing if the claim has expired and another request has claimed the
 * key.
 */
export async function completeRequest(
  handle: Handle,
  { principalId, key }: Key,
  { claim: { id }, answer: { status, headers, body } }: { claim: Claim; answer: StoredRequest },
): Promise<void> {
  await handle.run(complete, principalId, key, id, status, JSON.stringify(headers), body)
}

/** Releases the key of a failed request, so that the request can be sent again. */
export async function releaseRequest(handle: Handle, { principalId, key }: Key, { id }: Claim): Promise<void> {
  await handle.run(release, principalId, key, id)
}
