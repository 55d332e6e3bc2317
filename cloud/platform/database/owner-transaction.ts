import type { Client } from 'pg'
import type { ReferenceHandle, Transaction } from './database.ts'
import type { Statement } from './statement.ts'

/** A connection of the owner of the database. */
export type Owner = Client

/**
 * Runs a transaction as the owner of the database on the rows of one tenant. It is for stores whose statements need a
 * tenant. Row-level security does not apply to the owner. Use it for operator commands, never for requests.
 */
export async function ownerTransaction<Result>(
  owner: Owner,
  tenantId: string,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  await owner.query('begin')
  try {
    const result = await work(handleOf(owner, tenantId))
    await owner.query('commit')
    return result
  } catch (error) {
    await owner.query('rollback')
    throw error
  }
}

function handleOf(owner: Owner, tenantId: string): Transaction {
  return {
    tenantId,
    ...using(owner, [tenantId]),
    reference: ownerReference(owner),
    signal: () => {},
    async pipeline(parts) {
      for (const part of parts) await part()
    },
  } as Transaction
}

/** Returns a handle of the owner of the database, for stores of shared tables. */
export function ownerReference(owner: Owner): ReferenceHandle {
  return using(owner, []) as ReferenceHandle
}

function using(owner: Owner, first: readonly unknown[]) {
  const query = ({ text }: Statement, values: unknown[]) => owner.query(text, [...first, ...values])
  return {
    rows: async (statement: Statement, ...values: unknown[]) => (await query(statement, values)).rows,
    row: async (statement: Statement, ...values: unknown[]) => (await query(statement, values)).rows[0],
    run: async (statement: Statement, ...values: unknown[]) => (await query(statement, values)).rowCount ?? 0,
  }
}
