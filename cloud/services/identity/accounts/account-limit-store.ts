import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'

export type AccountFailures = { failures: number; lastAt: string }

const lockedFailures = statement<AccountFailures>(
  `insert into sign_in_failures (tenant_id, account, failures, last_at, expires_at)
   values ($1, $2, 0, $3::timestamptz, $4::timestamptz)
   on conflict (tenant_id, account) do update set expires_at = excluded.expires_at
   returning failures, last_at as "lastAt"`,
)
const changedFailures = statement(
  `update sign_in_failures set failures = $3, last_at = $4::timestamptz, expires_at = $5::timestamptz
   where tenant_id = $1 and account = $2`,
)
const decrementFailures = statement(
  'update sign_in_failures set failures = failures - 1 where tenant_id = $1 and account = $2 and failures > 0',
)
const knownNetwork = statement<{ known: number }>(
  `select 1 as known from known_networks
   where tenant_id = $1 and account = $2 and network = $3 and expires_at > $4::timestamptz`,
)
const newNetwork = statement(
  `insert into known_networks (tenant_id, account, network, expires_at) values ($1, $2, $3, $4::timestamptz)
   on conflict (tenant_id, account, network) do update set expires_at = excluded.expires_at`,
)

/**
 * Returns the failures of an account and locks the counter. Other processes cannot change it until the transaction
 * ends.
 */
export async function lockFailures(
  tx: Transaction,
  { account, now, expiresAt }: { account: Buffer; now: string; expiresAt: string },
): Promise<AccountFailures> {
  return (await tx.row(lockedFailures, account, now, expiresAt)) ?? { failures: 0, lastAt: now }
}

export async function setFailures(
  tx: Transaction,
  { account, failures, now, expiresAt }: { account: Buffer; failures: number; now: string; expiresAt: string },
): Promise<void> {
  await tx.run(changedFailures, account, failures, now, expiresAt)
}

export async function decrementFailure(tx: Transaction, account: Buffer): Promise<void> {
  await tx.run(decrementFailures, account)
}

type Network = { account: Buffer; network: string }

export async function isKnownNetwork(handle: Handle, { account, network }: Network, now: string): Promise<boolean> {
  return (await handle.row(knownNetwork, account, network, now)) !== undefined
}

export async function rememberNetwork(tx: Transaction, { account, network }: Network, until: string): Promise<void> {
  await tx.run(newNetwork, account, network, until)
}
