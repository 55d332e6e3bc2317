import { backOffMs, pause } from '@millwright/api/back-off.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Client } from 'pg'
import type { ReferenceHandle, Transaction } from './database.ts'
import type { Statement } from './statement.ts'
import { asProblem, isLostRace, lostWorkerOf } from './transient.ts'

/** A connection of the owner of the database. */
export type Owner = Client

/** An operator waits for a command, so it is repeated more often than a request. */
const attempts = 8
/** The pauses before a transaction is repeated after a deadlock or a serialization failure. */
const repeat = { firstMs: 50, longestMs: 1_000 } as const

/**
 * Runs a transaction as the owner of the database on the rows of one tenant. It is for stores whose statements need a
 * tenant. Row-level security does not apply to the owner. Use it for operator commands, never for requests.
 */
export function ownerTransaction<Result>(
  owner: Owner,
  tenantId: string,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return inTransaction(owner, () => work(handleOf(owner, tenantId)))
}

/**
 * Runs `work` in a transaction of the owner. After a deadlock or a serialization failure `work` runs again, so its only
 * effects must be its statements.
 */
export async function inTransaction<Result>(owner: Owner, work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptOnce(owner, work)
    } catch (error) {
      if (attempt === attempts || !isLostRace(error)) throw ownerProblem(error)
      await pause(backOffMs(attempt, repeat))
    }
  }
}

async function attemptOnce<Result>(owner: Owner, work: () => Promise<Result>): Promise<Result> {
  await owner.query('begin')
  try {
    const result = await work()
    await owner.query('commit')
    return result
  } catch (error) {
    // After a lost connection, the rollback fails too. The first error is the cause.
    await owner.query('rollback').catch(() => {})
    throw error
  }
}

/**
 * Returns the problem that an operator sees. A command for a tenant needs the server of the cluster with its data, so the
 * problem names this server if it is not reachable.
 */
function ownerProblem(error: unknown): unknown {
  const worker = lostWorkerOf(error)
  if (worker === undefined) return isLostRace(error) ? asProblem(error) : error
  return new Problem(
    'unavailable',
    `The database server ${worker} of the cluster is not reachable, and this command needs it. ` +
      'Start the server, then run the command again. Tenants on other servers are not affected',
    { retryAfter: 5, cause: error },
  )
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
