import { signHeadAgain } from '../audit/sealing.ts'
import type { ReferenceHandle, Transaction } from '../database/database.ts'
import { type Owner, ownerReference, ownerTransaction } from '../database/owner-transaction.ts'
import { listTenants } from '../tenants/tenants.ts'
import { newKey, wipe } from './cipher.ts'
import * as store from './key-owner-store.ts'
import type { MasterKeys } from './master-keys.ts'
import { type OnStep, oneRotation } from './master-rotation.ts'
import { openSecrets, secretFor } from './opening.ts'
import { headerOf, keyIdOf, type Safe } from './safe.ts'
import type { SealedColumn } from './sealed-column.ts'
import * as columnStore from './sealed-column-store.ts'
import { type Secrets, versionOfSealed, wrappedFor } from './secrets.ts'

/** The sealed columns of the platform itself. Services declare their own sealed columns. */
export const ownSealedColumns: readonly SealedColumn[] = [
  {
    of: 'platform',
    table: 'platform_secrets',
    column: 'sealed',
    key: ['name'],
    belongsTo: ({ name = '' }) => secretFor({ name }),
  },
]

const batch = 100

export type DataRotation = { keyId: string; version: number; resealed: number; retired: number }

type TenantOptions = {
  tenantId: string
  safe: Safe
  columns: readonly SealedColumn[]
  onStep?: OnStep
}

/**
 * Rotates the data key of a tenant. The new key seals new values at once. All values of older keys are sealed again,
 * then the older keys are retired. Requests are not interrupted: each value contains the id of its key, and a retired
 * key can be read for a while.
 */
export async function rotateDataKey(
  owner: Owner,
  { tenantId, safe, columns, onStep = () => {} }: TenantOptions,
): Promise<DataRotation> {
  return oneRotation(owner, async () => {
    const mine = columns.filter(({ of }) => of === 'tenant')
    const newest = await ownerTransaction(owner, tenantId, (tx) => safe.renew(tx))
    await onStep(`data key ${newest.version} seals new values`)
    let resealed = await resealAll(owner, { tenantId, safe, columns: mine, onStep })
    const keys = await ownerTransaction(owner, tenantId, (tx) => store.listDataKeys(tx))
    const old = keys.filter(({ id, retiredAt }) => id !== newest.id && retiredAt === null)
    for (const { id, version } of old) {
      while (!(await retired(owner, { tenantId, id, columns: mine }))) {
        resealed += await resealAll(owner, { tenantId, safe, columns: mine, onStep })
      }
      await onStep(`data key ${version} is retired`)
    }
    return { keyId: newest.id, version: newest.version, resealed, retired: old.length }
  })
}

/**
 * Retires an old key. Returns false if values are still sealed with it, because a process sealed a value before it was
 * notified of the new key.
 */
async function retired(
  owner: Owner,
  { tenantId, id, columns }: { tenantId: string; id: string; columns: readonly SealedColumn[] },
): Promise<boolean> {
  return ownerTransaction(owner, tenantId, async (tx) => {
    await store.holdToRetire(tx, id)
    for (const column of columns) {
      if ((await columnStore.countSealed(tx, column, headerOf(id))) > 0) return false
    }
    await store.retireDataKey(tx, id)
    return true
  })
}

async function resealAll(owner: Owner, { tenantId, safe, columns, onStep = () => {} }: TenantOptions): Promise<number> {
  let resealed = 0
  for (const column of columns) {
    let after: Record<string, string> | undefined
    for (;;) {
      const { page, count } = await ownerTransaction(owner, tenantId, async (tx) => {
        const rows = await columnStore.pageOfSealed(tx, column, { after, limit: batch })
        let resealedRows = 0
        for (const row of rows) resealedRows += await reseal(tx, { safe, column, row })
        return { page: rows, count: resealedRows }
      })
      resealed += count
      if (page.length > 0)
        await onStep(`${resealed} ${resealed === 1 ? 'value' : 'values'} of ${column.table} encrypted again`)
      after = page.at(-1)?.key
      if (page.length < batch) break
    }
  }
  return resealed
}

type One = { safe: Safe; column: SealedColumn; row: columnStore.SealedRow }

async function reseal(tx: Transaction, { safe, column, row }: One): Promise<number> {
  if (keyIdOf(row.sealed) === undefined) return 0
  const sealed = await safe.sealAgain(tx, row.sealed, column.belongsTo(row.key))
  if (sealed === undefined) return 0
  await columnStore.replaceSealed(tx, column, { row, sealed })
  return 1
}

/** How long every process has a new platform key before the key is used. */
const publishedBeforeUseSeconds = 30
/**
 * How long the old key is accepted. Everything that it authenticated expires earlier: the longest time is that of
 * stored responses, which are kept for a day.
 */
const understoodForSeconds = 25 * 3600

type PlatformOptions = { masterKeys: MasterKeys; columns: readonly SealedColumn[]; activeInSeconds?: number }

/**
 * Rotates the platform key. The new key seals new values at once. It authenticates messages only when every process has
 * had time to read it. The old key is accepted for a day. It is retired at the first start or rotation after that.
 */
export async function rotatePlatformKey(
  owner: Owner,
  { masterKeys, columns, activeInSeconds = publishedBeforeUseSeconds }: PlatformOptions,
): Promise<number> {
  return oneRotation(owner, async () => {
    const handle = ownerReference(owner)
    const version = await store.changeKeys(owner, async () => {
      const next = Math.max(0, ...(await store.listKnownPlatformKeys(handle)).map((known) => known.version)) + 1
      const masterKeyId = (await store.listKnownMasterKeys(handle)).at(-1)?.id ?? ''
      const wrapped = masterKeys.wrap(masterKeyId, newKey(), wrappedFor(next))
      await store.insertPlatformKey(handle, { version: next, masterKeyId, wrapped, activeInSeconds })
      await store.retireBefore(handle, next, understoodForSeconds)
      return next
    })
    await store.announceKeys(owner)
    await resealPlatform(handle, await openSecrets(owner, masterKeys), columns)
    return version
  })
}

async function resealPlatform(
  handle: ReferenceHandle,
  secrets: Secrets,
  columns: readonly SealedColumn[],
): Promise<void> {
  for (const column of [...ownSealedColumns, ...columns].filter(({ of }) => of === 'platform')) {
    const rows = await columnStore.pageOfSealed(handle, column, { after: undefined, limit: batch })
    for (const row of rows) {
      if (versionOfSealed(row.sealed) === undefined) continue
      const plain = await secrets.open(row.sealed, column.belongsTo(row.key))
      await columnStore.replaceSealed(handle, column, { row, sealed: secrets.seal(plain, column.belongsTo(row.key)) })
      wipe(plain)
    }
  }
}

/**
 * Retires expired platform keys and deletes them. Signatures that must stay valid are first replaced with signatures of
 * the current key.
 */
export async function retirePlatformKeys(
  owner: Owner,
  { secrets, columns }: { secrets: Secrets; columns: readonly SealedColumn[] },
): Promise<number> {
  const handle = ownerReference(owner)
  const over = (await store.listKnownPlatformKeys(handle)).filter(({ isOver }) => isOver)
  if (over.length === 0) return 0
  await resealPlatform(handle, secrets, columns)
  for (const { id } of await listTenants(owner)) {
    await ownerTransaction(owner, id, (tx) => signHeadAgain(tx, secrets))
  }
  for (const { version } of over) await store.deletePlatformKey(handle, version)
  return over.length
}
