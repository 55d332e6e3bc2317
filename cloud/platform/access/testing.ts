import { growingPause } from '@millwright/api/test-effort.ts'
import pino from 'pino'
import { v7 } from 'uuid'
import { openClient } from '../database/connection.ts'
import { Database } from '../database/database.ts'
import { createTenant } from '../tenants/tenants.ts'
import { testDatabase } from '../testing/server.ts'
import { AccessCache } from './cache.ts'
import { changeAccess, deleteGrant, insertGrant, insertPrincipal } from './store.ts'

export const silent = pino({ level: 'silent' })

type ProcessOptions = { listen?: boolean; pollMs?: number; entryLimit?: number }

const never = 3_600_000

/** Creates a database with several processes that share it. Each process has its own pool and cache. */
export async function testSite() {
  const made = await testDatabase()
  const owner = await openClient(made.owner)
  const tenant = await createTenant(owner, { name: `t${v7()}` })
  const closing: (() => Promise<void>)[] = []

  return {
    owner,
    /** Opens another connection as the owner of the database. */
    async anotherOwner() {
      const another = await openClient(made.owner)
      closing.push(() => another.end())
      return another
    },
    /** Opens another connection as the application, which can see and end its own sessions. */
    async anotherApplication() {
      const another = await openClient(made.app)
      closing.push(() => another.end())
      return another
    },
    tenant,
    scope: { tenantId: tenant.id },
    process({ listen = false, pollMs = never, entryLimit }: ProcessOptions = {}) {
      const database = new Database({ address: made.app, server: made.server, connections: 4 })
      const address = listen ? made.app : undefined
      const limit = entryLimit === undefined ? {} : { entryLimit }
      const access = new AccessCache({ database, address, log: silent, pollMs, ...limit })
      access.start()
      closing.push(async () => {
        await access.stop()
        await database.close()
      })
      return { database, access }
    },
    async [Symbol.asyncDispose]() {
      for (const close of closing) await close()
      await owner.end()
      await made.leave([tenant.name])
    },
  }
}

export type Site = Awaited<ReturnType<typeof testSite>>

/** Creates a user with a role. */
export async function givenUser(database: Database, scope: Site['scope'], role: string) {
  return database.transaction(scope, async (tx) => {
    await changeAccess(tx)
    const { id } = await insertPrincipal(tx, { kind: 'user', name: `u${v7()}` })
    const { grant } = await insertGrant(tx, { principalId: id, role })
    return { id, grantId: grant.id }
  })
}

export async function revoke(database: Database, scope: Site['scope'], grantId: string): Promise<void> {
  await database.transaction(scope, async (tx) => {
    await changeAccess(tx)
    await deleteGrant(tx, grantId)
  })
}

/** Waits until a condition is true. If it never becomes true, the test fails at its time limit. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  const pause = growingPause()
  while (!(await isSo())) await pause()
}
