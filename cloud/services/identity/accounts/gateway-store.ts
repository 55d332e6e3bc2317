import type { JWK } from 'jose'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { statement } from '../../../platform/database/statement.ts'

export type GatewayKeyRow = { principalId: string; publicJwk: JWK; thumbprint: string }

const putStatement = statement(
  `insert into gateway_keys (tenant_id, principal_id, client_id, public_jwk, thumbprint) values ($1, $2, $3, $4, $5)
   on conflict (tenant_id, principal_id) do update
   set public_jwk = excluded.public_jwk, thumbprint = excluded.thumbprint, created_at = excluded.created_at`,
)

export const findGatewayKeyStatement = statement<GatewayKeyRow>(
  `select principal_id as "principalId", public_jwk as "publicJwk", thumbprint from gateway_keys
   where tenant_id = $1 and client_id = $2`,
)

/** Stores the key of a gateway. A gateway has one key, so a new enrolment replaces the previous key. */
export async function putGatewayKey(
  tx: Transaction,
  key: { principalId: string; clientId: string; publicJwk: JWK; thumbprint: string },
): Promise<void> {
  await tx.run(putStatement, key.principalId, key.clientId, jsonText(key.publicJwk), key.thumbprint)
}

export function findGatewayKey(handle: Handle, clientId: string): Promise<GatewayKeyRow | undefined> {
  return handle.row(findGatewayKeyStatement, clientId)
}
