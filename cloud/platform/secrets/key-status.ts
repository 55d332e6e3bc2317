import { type Owner, ownerReference, ownerTransaction } from '../database/owner-transaction.ts'
import { listTenants } from '../tenants/tenants.ts'
import * as store from './key-owner-store.ts'
import type { MasterKeys, Place } from './master-keys.ts'
import { headerOf } from './safe.ts'
import type { SealedColumn } from './sealed-column.ts'
import { countSealed } from './sealed-column-store.ts'

export type MasterKeyStatus = {
  id: string
  /** The place where this process found the key, or `missing`. */
  place: Place | 'missing'
  state: 'current' | 'being replaced' | 'not used'
  since: string | null
  wraps: number
}

export type PlatformKeyStatus = { version: number; masterKeyId: string; createdAt: string; retiresAt: string | null }

export type DataKeyStatus = {
  tenant: string
  version: number
  state: 'current' | 'being replaced' | 'retired'
  masterKeyId: string
  createdAt: string
  /** The number of values that are sealed with the key. */
  sealed: number
}

export type KeyStatus = { master: MasterKeyStatus[]; platform: PlatformKeyStatus[]; data: DataKeyStatus[] }

/**
 * Returns the keys with their ids, ages and counts, and the work that is still pending. The result never contains a
 * key.
 */
export async function keyStatus(
  owner: Owner,
  { masterKeys, columns }: { masterKeys: MasterKeys; columns: readonly SealedColumn[] },
): Promise<KeyStatus> {
  const handle = ownerReference(owner)
  const platform = await store.listKnownPlatformKeys(handle)
  const data = await dataKeys(owner, columns)
  const masterKeyRows = await store.listKnownMasterKeys(handle)
  const wraps = (id: string) => [...platform, ...data].filter(({ masterKeyId }) => masterKeyId === id).length
  const used = masterKeyRows.toReversed().map(({ id, currentSince, isCurrent }): MasterKeyStatus => {
    const state = isCurrent ? 'current' : 'being replaced'
    return { id, place: masterKeys.placeOf(id) ?? 'missing', state, since: currentSince, wraps: wraps(id) }
  })
  const unused = masterKeys.ids.filter((id) => !masterKeyRows.some((other) => other.id === id))
  return {
    master: [
      ...used,
      ...unused.map((id): MasterKeyStatus => {
        return { id, place: masterKeys.placeOf(id) ?? 'missing', state: 'not used', since: null, wraps: 0 }
      }),
    ],
    platform: platform.map(({ version, masterKeyId, createdAt, retiresAt }) => {
      return { version, masterKeyId, createdAt, retiresAt }
    }),
    data,
  }
}

async function dataKeys(owner: Owner, columns: readonly SealedColumn[]): Promise<DataKeyStatus[]> {
  const all: DataKeyStatus[] = []
  for (const { id, name } of await listTenants(owner)) {
    const rows = await ownerTransaction(owner, id, async (tx) => {
      const statuses: DataKeyStatus[] = []
      const keys = await store.listDataKeys(tx)
      for (const key of keys) {
        let sealed = 0
        for (const column of columns.filter(({ of }) => of === 'tenant')) {
          sealed += await countSealed(tx, column, headerOf(key.id))
        }
        const state = key.retiredAt !== null ? 'retired' : key === keys.at(-1) ? 'current' : 'being replaced'
        const { version, masterKeyId, createdAt } = key
        statuses.push({ tenant: name, version, state, masterKeyId, createdAt, sealed })
      }
      return statuses
    })
    all.push(...rows)
  }
  return all
}
