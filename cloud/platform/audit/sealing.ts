import type { Database, Transaction } from '../database/database.ts'
import type { Secrets } from '../secrets/secrets.ts'
import { type TaskKinds, takeoverMs } from '../tasks/task.ts'
import { emptyHead, extend, type Head, headMessage } from './chain.ts'
import * as store from './store.ts'

type Parts = { database: Database; secrets: Secrets }

const batch = 500
/** After this many batches, the task lets other tasks of the process run. */
const batchesAtOnce = 20
/**
 * The minimum pause between two runs. Claiming and completing a task costs more than sealing a few entries, so the
 * entries of this time are sealed together.
 */
const minPauseMs = 250

/** Creates the task that adds entries to the hash chain, soon after they are committed. */
export function auditTasks({ database, secrets }: Parts): TaskKinds {
  return {
    'audit.seal': {
      periodic: { everyMs: takeoverMs, wakeOn: 'audit', minPauseMs, pending: store.anyUnsealed },
      async run(task) {
        for (let round = 1; !task.signal.aborted; round++) {
          const ended = await database.transaction(task, async (tx) => {
            const sealed = await sealBatch(tx, secrets)
            if (sealed < batch) await task.complete(tx)
            else if (round >= batchesAtOnce) await task.complete(tx, { runAgainAt: new Date() })
            else return false
            return true
          })
          if (ended) return
        }
        task.signal.throwIfAborted()
      },
    },
  }
}

/** Seals the oldest unsealed entries. Returns the number of sealed entries. */
export async function sealBatch(tx: Transaction, secrets: Secrets): Promise<number> {
  const { tenantId } = tx
  const head = await store.lockHead(tx, signed(secrets, tenantId, emptyHead))
  // A forged head must not be extended, because the new signature would make it look genuine.
  if (!isGenuine(secrets, tenantId, head)) throw new Error('The head of the audit chain has been tampered with')
  const links = extend(head, await store.unsealed(tx, batch))
  const last = links.at(-1)
  if (last === undefined) return 0
  if ((await store.seal(tx, links)) !== links.length) throw new Error('Audit entries were sealed by another writer')
  await store.moveHead(tx, signed(secrets, tenantId, last))
  return links.length
}

function signed(secrets: Secrets, tenantId: string, { sequence, hash }: Head) {
  return { sequence, hash, mac: secrets.mac('audit', headMessage(tenantId, { sequence, hash })) }
}

export function isGenuine(secrets: Secrets, tenantId: string, head: Head & { mac: Uint8Array }): boolean {
  return secrets.isMac('audit', headMessage(tenantId, head), head.mac)
}

/**
 * Signs the head of the chain with the current key, so that the previous key can be deleted. A forged head stays
 * unchanged.
 */
export async function signHeadAgain(tx: Transaction, secrets: Secrets): Promise<void> {
  if ((await store.findHead(tx)) === undefined) return
  const head = await store.lockHead(tx, signed(secrets, tx.tenantId, emptyHead))
  if (isGenuine(secrets, tx.tenantId, head)) await store.moveHead(tx, signed(secrets, tx.tenantId, head))
}
