import { signHeadAgain } from '../audit/sealing.ts'
import type { ReferenceHandle, Transaction } from '../database/database.ts'
import { type Owner, ownerReference, ownerTransaction } from '../database/owner-transaction.ts'
import { listTenants } from '../tenants/tenants.ts'
import { newKey, wipe } from './cipher.ts'
import * as store from './key-owner-store.ts'
import type { MasterKeys } from './master-keys.ts'
import { alone, type OnStep } from './master-rotation.ts'
import { openSecrets, secretFor } from './opening.ts'
import { headerOf, keyIdOf, type Safe } from './safe.ts'
import type { SealedColumn } from './sealed-column.ts'
import * as columnStore from './sealed-column-store.ts'
import { type Secrets, versionOfSealed, wrappedFor } from './secrets.ts'

/** Sealed by the platform itself, besides what services say of theirs. */
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
 * A new data key for a tenant: it seals from now on, everything that older ones sealed is sealed anew, then they are
 * retired. Nothing stops: values say which key sealed them, and a retired key can be read for a while yet.
 */
export async function rotateDataKey(
  owner: Owner,
  { tenantId, safe, columns, onStep = () => {} }: TenantOptions,
): Promise<DataRotation> {
  return alone(owner, async () => {
    const mine = columns.filter(({ of }) => of === 'tenant')
    const newest = await ownerTransaction(owner, tenantId, (tx) => safe.renew(tx))
    await onStep(`data key ${newest.version} seals what is new`)
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

/** False when somebody sealed with it before they could have heard of the new one. */
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
      const page = await ownerTransaction(owner, tenantId, async (tx) => {
        const rows = await columnStore.pageOfSealed(tx, column, { after, limit: batch })
        for (const row of rows) resealed += await reseal(tx, { safe, column, row })
        return rows
      })
      if (page.length > 0) await onStep(`${column.table}: ${resealed} values sealed anew`)
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

/** Every process knows a new platform key for this long before it is used. */
const publishedBeforeUseSeconds = 30
/** Longer than anything lasts that was authenticated with the old one: answers to repeated requests are kept for a day. */
const understoodForSeconds = 25 * 3600

type PlatformOptions = { masterKeys: MasterKeys; columns: readonly SealedColumn[]; activeInSeconds?: number }

/**
 * A new platform key. It seals at once, and authenticates once every process has had time to learn of it; the old one
 * is understood for a day, and retired at the first start or rotation after that.
 */
export async function rotatePlatformKey(
  owner: Owner,
  { masterKeys, columns, activeInSeconds = publishedBeforeUseSeconds }: PlatformOptions,
): Promise<number> {
  return alone(owner, async () => {
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

/** Ends platform keys whose time is over: signs with the present one what they signed for good, then deletes them. */
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
