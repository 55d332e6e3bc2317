import type { Database, Scope } from '../database/database.ts'
import { lowestIdAt } from '../database/id.ts'
import type { Secrets } from '../secrets/secrets.ts'
import { emptyHead, type Fault, faultAfter, faultOfEnd, type Head } from './chain.ts'
import { isGenuine } from './sealing.ts'
import * as store from './store.ts'

export type Verification = { intact: boolean; checked: number; head: Head | null; firstFault: Fault | null }

const pageSize = 1_000
const sealedWithinMs = 60_000

type Parts = { database: Database; secrets: Secrets }

/**
 * Verifies the whole chain of a tenant, page by page. Returns the first fault. Entries can be added during the
 * verification.
 */
export async function verifyChain({ database, secrets }: Parts, scope: Scope): Promise<Verification> {
  const head = await database.read(scope, store.findHead)
  let last = emptyHead
  for (;;) {
    const range = { after: last.sequence, upTo: head?.sequence ?? 0, limit: pageSize }
    const page = await database.read(scope, (handle) => store.sealedAfter(handle, range))
    for (const entry of page) {
      const fault = faultAfter(last, entry)
      if (fault !== undefined) return result(last, head, fault)
      last = { sequence: entry.sequence, hash: entry.hash }
    }
    if (page.length < pageSize) break
  }
  const fault = head === undefined ? undefined : faultOfEnd(last, head)
  if (fault !== undefined) return result(last, head, fault)
  if (head !== undefined && !isGenuine(secrets, scope.tenantId, head)) {
    return result(last, head, {
      sequence: head.sequence,
      detail: 'The signature of the head of the chain is not valid',
    })
  }
  return result(last, head, await faultOutside(database, scope))
}

/** Finds an entry that was inserted after the head of the chain, or an old entry that was never sealed. */
async function faultOutside(database: Database, scope: Scope): Promise<Fault | undefined> {
  return database.read(scope, async (handle) => {
    const inserted = await store.findBeyondHead(handle)
    if (inserted !== undefined) {
      return { sequence: inserted, detail: `Entry ${inserted} was inserted after the head of the chain` }
    }
    const overdue = await store.findOverdue(handle, lowestIdAt(Date.now() - sealedWithinMs))
    if (overdue === undefined) return undefined
    const head = await store.findHead(handle)
    return {
      sequence: (head?.sequence ?? 0) + 1,
      detail: `Entry ${overdue} is not sealed, although its sealing is overdue`,
    }
  })
}

function result(last: Head, head: Head | undefined, fault: Fault | undefined): Verification {
  return {
    intact: fault === undefined,
    checked: last.sequence,
    head: head === undefined || head.sequence === 0 ? null : { sequence: head.sequence, hash: head.hash },
    firstFault: fault ?? null,
  }
}
