import { type Handle, violatedConstraint } from '../database/database.ts'
import { statement } from '../database/statement.ts'

export type KeptRequest = {
  fingerprint: Buffer
  status: number
  headers: Record<string, string | string[]>
  body: string | null
}

const find = statement<KeptRequest>(
  `select fingerprint, status, headers, body from idempotent_requests
   where tenant_id = $1 and principal_id = $2 and key = $3 and created_at > now() - make_interval(hours => $4)`,
)

const forget = statement(
  `delete from idempotent_requests
   where tenant_id = $1 and principal_id = $2 and key = $3 and created_at <= now() - make_interval(hours => $4)`,
)

const insert = statement(
  `insert into idempotent_requests (tenant_id, principal_id, key, fingerprint, status, headers, body)
   values ($1, $2, $3, $4, $5, $6, $7)`,
)

type Key = { principalId: string; key: string; hours: number }

export function findRequest(handle: Handle, { principalId, key, hours }: Key): Promise<KeptRequest | undefined> {
  return handle.row(find, principalId, key, hours)
}

/** False when another request with this key was faster. */
export async function keepRequest(
  handle: Handle,
  { principalId, key, hours }: Key,
  request: KeptRequest,
): Promise<boolean> {
  try {
    await handle.run(forget, principalId, key, hours)
    await handle.run(
      insert,
      principalId,
      key,
      request.fingerprint,
      request.status,
      JSON.stringify(request.headers),
      request.body,
    )
    return true
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error
    return false
  }
}
