import { violatedConstraint } from '../database/database.ts'
import { type Owner, ownerReference, ownerTransaction } from '../database/owner-transaction.ts'
import { StartError } from '../start-error.ts'
import { listTenants } from '../tenants/tenants.ts'
import * as store from './key-owner-store.ts'
import { listMasterKeys } from './key-store.ts'
import type { MasterKeys } from './master-keys.ts'
import { wrappedFor as dataKeyFor } from './safe.ts'
import { wrappedFor as platformKeyFor } from './secrets.ts'

/**
 * `OnStep` is called at every step of a rotation. If the process ends after any step, the platform still starts and
 * works.
 */
export type OnStep = (step: string) => void | Promise<void>

export type MasterRotation = { from: string[]; to: string; rewrapped: number; resumed: boolean }

type Options = { masterKeys: MasterKeys; onStep?: OnStep }

/**
 * Rotates the master key. All keys that old master keys wrapped are wrapped again, then the old master keys are
 * retired. Sealed values do not change. Requests are not interrupted, because processes hold the unwrapped keys in
 * memory and find the new master key in the same place as the old one. An interrupted rotation can be resumed.
 */
export async function rotateMasterKey(
  owner: Owner,
  { masterKeys, onStep = () => {} }: Options,
): Promise<MasterRotation> {
  return oneRotation(owner, async () => {
    const handle = ownerReference(owner)
    const masterKeyRows = await store.listKnownMasterKeys(handle)
    const present = masterKeyRows.at(-1)
    const resumed = masterKeyRows.length > 1 && present !== undefined && isStillTarget(masterKeys, present.id)
    const target = resumed ? present : await masterKeys.next(present?.id)
    await onStep(resumed ? `resuming the rotation to master key ${target.id}` : `master key ${target.id} is stored`)
    if (!resumed) await store.changeKeys(owner, () => store.makeCurrent(handle, target))
    await store.announceKeys(owner)
    await onStep(`master key ${target.id} wraps new keys`)
    const from = (await store.listKnownMasterKeys(handle)).map(({ id }) => id).filter((id) => id !== target.id)
    const rewrapped = await retire(owner, { masterKeys, from, to: target.id, onStep })
    await store.announceKeys(owner)
    return { from, to: target.id, rewrapped, resumed }
  })
}

/**
 * Wraps the master keys of Vault again with the newest version of the transit key. The master keys stay the same.
 */
export async function rewrapWithTransit(
  owner: Owner,
  masterKeys: MasterKeys,
  { rotate }: { rotate: boolean },
): Promise<string[]> {
  return oneRotation(owner, async () => {
    const handle = ownerReference(owner)
    const ids: string[] = []
    for (const { id, transitText } of await store.listKnownMasterKeys(handle)) {
      if (transitText === null) continue
      const renewed = await masterKeys.rewrap(transitText, { rotate: rotate && ids.length === 0 })
      await store.replaceTransitText(handle, { id, transitText: renewed })
      ids.push(id)
    }
    if (ids.length === 0) {
      throw new StartError('No master key is wrapped by a transit key yet: run "millwright keys rotate-master" first.')
    }
    return ids
  })
}

/** Runs the work if no other rotation runs, and throws otherwise. */
export async function oneRotation<Result>(owner: Owner, work: () => Promise<Result>): Promise<Result> {
  if (!(await store.beginRotation(owner))) {
    throw new StartError('Another key rotation is in progress: wait until it ends.')
  }
  try {
    return await work()
  } finally {
    await store.endRotation(owner).catch(() => {})
  }
}

/**
 * Returns true if a resumed rotation still has the same target. After an interruption, the operator may have set
 * another key.
 */
function isStillTarget(masterKeys: MasterKeys, id: string): boolean {
  return masterKeys.newest === undefined || masterKeys.newest === id
}

type Move = { masterKeys: MasterKeys; from: readonly string[]; to: string; onStep: OnStep }

const rounds = 10

/**
 * Wraps all keys again and retires the old master keys. A transaction that uses an old key may commit after all keys
 * were wrapped. The database then refuses to retire the old key, and the next round starts.
 */
async function retire(owner: Owner, move: Move): Promise<number> {
  const handle = ownerReference(owner)
  let rewrapped = 0
  for (let round = 1; ; round++) {
    rewrapped += await rewrapAll(owner, move)
    try {
      for (const id of move.from) {
        await store.deleteMasterKey(handle, id)
        await move.onStep(`master key ${id} is retired`)
      }
      return rewrapped
    } catch (error) {
      if (violatedConstraint(error) === undefined || round === rounds) throw error
    }
  }
}

async function rewrapAll(owner: Owner, { masterKeys, to, onStep }: Move): Promise<number> {
  const handle = ownerReference(owner)
  let rewrapped = 0
  const rewrap = async (row: { masterKeyId: string; wrapped: Buffer }, belongsTo: string) => {
    await masterKeys.find(row.masterKeyId, () => listMasterKeys(handle))
    const key = masterKeys.unwrap(row.masterKeyId, row.wrapped, belongsTo)
    return { from: row.masterKeyId, to, wrapped: masterKeys.wrap(to, key, belongsTo) }
  }
  for (const row of await store.listKnownPlatformKeys(handle)) {
    if (row.masterKeyId === to) continue
    await store.rewrapPlatform(handle, row.version, await rewrap(row, platformKeyFor(row.version)))
    rewrapped++
    await onStep(`platform key ${row.version} is rewrapped`)
  }
  for (const tenant of await listTenants(owner)) {
    const moved = await ownerTransaction(owner, tenant.id, async (tx) => {
      const rows = (await store.listDataKeys(tx)).filter(({ masterKeyId }) => masterKeyId !== to)
      for (const row of rows) await store.rewrapData(tx, row.id, await rewrap(row, dataKeyFor(tenant.id, row.id)))
      return rows.length
    })
    rewrapped += moved
    if (moved > 0) await onStep(`the data keys of ${tenant.name} are rewrapped`)
  }
  return rewrapped
}
