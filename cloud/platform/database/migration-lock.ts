import type { Client } from 'pg'

/** The id of the advisory lock for migrations. All processes use it for every database of this product. */
const migrationLock = 0x6d696c6c

/** Runs work that changes the schema. Only one process runs such work at a time. The other processes wait. */
export async function withMigrationLock<Result>(owner: Client, work: () => Promise<Result>): Promise<Result> {
  await owner.query('select pg_advisory_lock($1)', [migrationLock])
  try {
    return await work()
  } finally {
    // After a lost connection, the server has released the lock.
    await owner.query('select pg_advisory_unlock($1)', [migrationLock]).catch(() => {})
  }
}
