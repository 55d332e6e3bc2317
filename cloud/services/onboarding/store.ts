import { type GatewayHost, onboardingLimits } from '@millwright/api/onboarding.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { firstTime, statement } from '../../platform/database/statement.ts'

export type GatewayRow = {
  id: string
  name: string
  accessGroupId: string
  enrolmentHash: Buffer | null
  configExpiresAt: string | null
  enrolledAt: string | null
  keyThumbprint: string | null
  revokedAt: string | null
  softwareVersion: string | null
  /** The computer of the gateway. Older versions of the gateway do not report it. */
  host: GatewayHost | null
  lastSeenAt: string | null
  /** The reachability state that was last written to the asset. */
  reachability: 'reached' | 'failed' | null
  createdAt: string
}

const columns = `id, name, access_group_id as "accessGroupId", enrolment_hash as "enrolmentHash",
  config_expires_at as "configExpiresAt", enrolled_at as "enrolledAt", key_thumbprint as "keyThumbprint",
  revoked_at as "revokedAt", software_version as "softwareVersion", host, last_seen_at as "lastSeenAt",
  reachability, created_at as "createdAt"`

const insertStatement = statement<GatewayRow>(
  `insert into gateways (tenant_id, id, name, access_group_id) values ($1, $2, $3, $4) returning ${columns}`,
)

export async function insertGateway(
  tx: Transaction,
  { id, name, accessGroupId }: Pick<GatewayRow, 'id' | 'name' | 'accessGroupId'>,
): Promise<GatewayRow> {
  const row = await tx.row(insertStatement, id, name, accessGroupId)
  if (row === undefined) throw new TypeError('A gateway was not stored')
  return row
}

export const findGatewayStatement = statement<GatewayRow>(
  `select ${columns} from gateways where tenant_id = $1 and id = $2`,
)
const lockStatement = statement<GatewayRow>(
  `select ${columns} from gateways where tenant_id = $1 and id = $2 for update`,
)

export function findGateway(handle: Handle, id: string): Promise<GatewayRow | undefined> {
  return handle.row(findGatewayStatement, id)
}

export function lockGateway(tx: Transaction, id: string): Promise<GatewayRow | undefined> {
  return tx.row(lockStatement, id)
}

export const listGatewaysStatement = statement<GatewayRow>(
  `select ${columns} from gateways where tenant_id = $1 order by name, id limit $2 offset $3`,
)
const countStatement = statement<{ total: number }>(`select count(*) as total from gateways where tenant_id = $1`)
const listSomeStatement = statement<GatewayRow>(
  `select ${columns} from gateways where tenant_id = $1 and id = any($4::uuid[]) order by name, id limit $2 offset $3`,
)
const countSomeStatement = statement<{ total: number }>(
  `select count(*) as total from gateways where tenant_id = $1 and id = any($2::uuid[])`,
)

/** Returns a page of the gateways with these ids, or of all gateways if `ids` is null. */
export async function listGateways(
  handle: Handle,
  { limit, offset, ids }: { limit: number; offset: number; ids: readonly string[] | null },
) {
  const rows =
    ids === null
      ? await handle.rows(listGatewaysStatement, limit, offset)
      : await handle.rows(listSomeStatement, limit, offset, ids)
  const counted = ids === null ? await handle.row(countStatement) : await handle.row(countSomeStatement, ids)
  return { rows, total: counted?.total ?? 0 }
}

const configStatement = statement<GatewayRow>(
  `update gateways set enrolment_hash = $3, config_expires_at = now() + make_interval(mins => $4)
   where tenant_id = $1 and id = $2 returning ${columns}`,
)

export function setConfig(
  tx: Transaction,
  { id, hash, minutes }: { id: string; hash: Buffer; minutes: number },
): Promise<GatewayRow | undefined> {
  return tx.row(configStatement, id, hash, minutes)
}

const enrolledStatement = statement<GatewayRow>(
  `update gateways set enrolled_at = now(), key_thumbprint = $3, software_version = $4, last_seen_at = now(),
     config_expires_at = null
   where tenant_id = $1 and id = $2 returning ${columns}`,
)

export function setEnrolled(
  tx: Transaction,
  { id, thumbprint, version }: { id: string; thumbprint: string; version: string },
): Promise<GatewayRow | undefined> {
  return tx.row(enrolledStatement, id, thumbprint, version)
}

const revokeStatement = statement<GatewayRow>(
  `update gateways set revoked_at = ${firstTime('revoked_at')}, enrolment_hash = null, config_expires_at = null
   where tenant_id = $1 and id = $2 returning ${columns}`,
)

export function setRevoked(tx: Transaction, id: string): Promise<GatewayRow | undefined> {
  return tx.row(revokeStatement, id)
}

const seenStatement = statement(
  `update gateways set last_seen_at = now(), software_version = coalesce($3, software_version), host = coalesce($4::json, host)
   where tenant_id = $1 and id = $2`,
)

type ReportedFacts = { version: string | undefined; host: GatewayHost | undefined }

export async function setSeen(tx: Transaction, id: string, { version, host }: ReportedFacts): Promise<void> {
  await tx.run(seenStatement, id, version ?? null, host === undefined ? null : jsonText(host))
}

const unrevokedStatement = statement<{ id: string }>(
  `select id from gateways where tenant_id = $1 and id = any($2::uuid[]) and revoked_at is null`,
)

export async function findUnrevoked(handle: Handle, ids: readonly string[]): Promise<string[]> {
  return (await handle.rows(unrevokedStatement, ids)).map(({ id }) => id)
}

const reachabilityChanged = `tenant_id = $1 and enrolled_at is not null and reachability is distinct from
  case when revoked_at is null
    and coalesce(last_seen_at, enrolled_at) >= now() - make_interval(secs => ${onboardingLimits.offlineAfterSeconds})
  then 'reached' else 'failed' end`
export const anyReachabilityChanged = statement(`select id from gateways where ${reachabilityChanged} limit 1`)
const reachabilityChangedStatement = statement<GatewayRow>(
  `select ${columns} from gateways where ${reachabilityChanged} order by id`,
)

/** Returns enrolled gateways whose asset has an outdated reachability state. */
export function listReachabilityChanged(handle: Handle): Promise<GatewayRow[]> {
  return handle.rows(reachabilityChangedStatement)
}

const reachabilityStatement = statement(`update gateways set reachability = $3 where tenant_id = $1 and id = $2`)

export async function setReachability(tx: Transaction, id: string, value: 'reached' | 'failed'): Promise<void> {
  await tx.run(reachabilityStatement, id, value)
}

const deleteStatement = statement(`delete from gateways where tenant_id = $1 and id = $2`)

export async function deleteGateway(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}
