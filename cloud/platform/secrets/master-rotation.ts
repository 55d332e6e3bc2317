import { violatedConstraint } from '../database/database.ts'
import { type Owner, ownerReference, ownerTransaction } from '../database/owner-transaction.ts'
import { StartError } from '../start-error.ts'
import { listTenants } from '../tenants/tenants.ts'
import * as store from './key-owner-store.ts'
import { listMasterKeys } from './key-store.ts'
import type { MasterKeys } from './master-keys.ts'
import { wrappedFor as dataKeyFor } from './safe.ts'
import { wrappedFor as platformKeyFor } from './secrets.ts'

/** Told at every step; after each of them everything can end, and the platform starts and works. */
export type OnStep = (step: string) => void | Promise<void>

export type MasterRotation = { from: string[]; to: string; rewrapped: number; resumed: boolean }

type Options = { masterKeys: MasterKeys; onStep?: OnStep }

/**
 * Another master key takes over: what the old ones wrapped is wrapped anew, then they are retired. What was sealed is
 * not touched, and nothing stops: processes have the keys in memory that were wrapped, and find the new master key
 * where the old one was when they need it. One that was cut short goes on where it was.
 */
export async function rotateMasterKey(
  owner: Owner,
  { masterKeys, onStep = () => {} }: Options,
): Promise<MasterRotation> {
  return alone(owner, async () => {
    const handle = ownerReference(owner)
    const known = await store.listKnownMasterKeys(handle)
    const present = known.at(-1)
    const resumed = known.length > 1 && present !== undefined && isStillMeant(masterKeys, present.id)
    const target = resumed ? present : await masterKeys.next(present?.id)
    await onStep(resumed ? `going on to master key ${target.id}` : `master key ${target.id} is there`)
    if (!resumed) await store.changeKeys(owner, () => store.makeCurrent(handle, target))
    await store.announceKeys(owner)
    await onStep('it wraps what is new')
    const from = (await store.listKnownMasterKeys(handle)).map(({ id }) => id).filter((id) => id !== target.id)
    const rewrapped = await retire(owner, { masterKeys, from, to: target.id, onStep })
    await store.announceKeys(owner)
    return { from, to: target.id, rewrapped, resumed }
  })
}

/** With a transit key: its newest version wraps the root key, which stays the same. */
export async function rewrapWithTransit(
  owner: Owner,
  masterKeys: MasterKeys,
  { rotate }: { rotate: boolean },
): Promise<string[]> {
  return alone(owner, async () => {
    const handle = ownerReference(owner)
    const ids: string[] = []
    for (const { id, transitText } of await store.listKnownMasterKeys(handle)) {
      if (transitText === null) continue
      const renewed = await masterKeys.rewrap(transitText, { rotate: rotate && ids.length === 0 })
      await store.replaceTransitText(handle, { id, transitText: renewed })
      ids.push(id)
    }
    if (ids.length === 0) {
      throw new StartError('No master key is wrapped by a transit key yet: "millwright keys rotate-master" does that.')
    }
    return ids
  })
}

/** One rotation at a time. */
export async function alone<Result>(owner: Owner, work: () => Promise<Result>): Promise<Result> {
  if (!(await store.beginRotation(owner))) {
    throw new StartError('Keys are being rotated already: wait for that to end.')
  }
  try {
    return await work()
  } finally {
    await store.endRotation(owner).catch(() => {})
  }
}

/** The operator may have given yet another key since it was cut short. */
function isStillMeant(masterKeys: MasterKeys, id: string): boolean {
  return masterKeys.newest === undefined || masterKeys.newest === id
}

type Move = { masterKeys: MasterKeys; from: readonly string[]; to: string; onStep: OnStep }

const rounds = 10

/** Who was about to wrap with an old key may commit after we looked: the database refuses to retire it, and we look again. */
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
  const anew = async (row: { masterKeyId: string; wrapped: Buffer }, belongsTo: string) => {
    await masterKeys.find(row.masterKeyId, () => listMasterKeys(handle))
    const key = masterKeys.unwrap(row.masterKeyId, row.wrapped, belongsTo)
    rewrapped++
    return { from: row.masterKeyId, to, wrapped: masterKeys.wrap(to, key, belongsTo) }
  }
  for (const row of await store.listKnownPlatformKeys(handle)) {
    if (row.masterKeyId === to) continue
    await store.rewrapPlatform(handle, row.version, await anew(row, platformKeyFor(row.version)))
    await onStep(`platform key ${row.version} is wrapped anew`)
  }
  for (const tenant of await listTenants(owner)) {
    const moved = await ownerTransaction(owner, tenant.id, async (tx) => {
      const rows = (await store.listDataKeys(tx)).filter(({ masterKeyId }) => masterKeyId !== to)
      for (const row of rows) await store.rewrapData(tx, row.id, await anew(row, dataKeyFor(tenant.id, row.id)))
      return rows.length
    })
    if (moved > 0) await onStep(`the data keys of ${tenant.name} are wrapped anew`)
  }
  return rewrapped
}
