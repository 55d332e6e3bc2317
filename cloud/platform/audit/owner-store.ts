import type { Owner } from '../database/owner-transaction.ts'
import type { Head } from './chain.ts'

/**
 * Returns the head of the audit chain of one tenant, no matter which, or undefined if no chain
 * exists. Runs as the owner of the database.
 */
export async function findAnyHead(owner: Owner): Promise<(Head & { mac: Buffer; tenantId: string }) | undefined> {
  const { rows } = await owner.query<Head & { mac: Buffer; tenantId: string }>(
    `select tenant_id as "tenantId", sequence, encode(hash, 'hex') as hash, mac from audit_heads limit 1`,
  )
  return rows[0]
}
