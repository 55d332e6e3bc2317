import { type KeyObject, randomBytes } from 'node:crypto'
import { findAnyHead } from '../audit/owner-store.ts'
import { isGenuine } from '../audit/sealing.ts'
import type { MigrationSource } from '../database/migrations.ts'
import { type Owner, ownerReference } from '../database/owner-transaction.ts'
import { StartError } from '../start-error.ts'
import { newKey } from './cipher.ts'
import * as store from './key-owner-store.ts'
import { listMasterKeys } from './key-store.ts'
import type { MasterKeys } from './master-keys.ts'
import { Secrets, wrappedFor } from './secrets.ts'

export const secretsMigrations: MigrationSource = {
  module: 'secrets',
  folder: new URL('./migrations/', import.meta.url),
}

/** Unwraps the platform keys as the owner of the database, at every start. The first start creates them. */
export async function openSecrets(owner: Owner, masterKeys: MasterKeys): Promise<Secrets> {
  const handle = ownerReference(owner)
  let rows = await store.listKnownPlatformKeys(handle)
  if (rows.length === 0) {
    await store.changeKeys(owner, () => begin(owner, masterKeys))
    rows = await store.listKnownPlatformKeys(handle)
  }
  const versions: ConstructorParameters<typeof Secrets>[0][number][] = []
  for (const { version, masterKeyId, wrapped, activeFrom } of rows) {
    await masterKeys.find(masterKeyId, () => listMasterKeys(handle))
    const key = masterKeys.unwrap(masterKeyId, wrapped, wrappedFor(version))
    versions.push({ version, activeFrom: new Date(activeFrom), key })
  }
  return new Secrets(versions, masterKeys)
}

async function begin(owner: Owner, masterKeys: MasterKeys): Promise<void> {
  const handle = ownerReference(owner)
  if ((await store.listKnownPlatformKeys(handle)).length > 0) return
  const currentKey = (await store.listKnownMasterKeys(handle)).at(-1)
  const earlier = await earlierKey(owner, masterKeys)
  const master =
    currentKey ?? (earlier === undefined ? await masterKeys.first() : { id: earlier.id, transitText: null })
  if (currentKey === undefined) await store.makeCurrent(handle, master)
  const wrapped = masterKeys.wrap(master.id, earlier?.key ?? newKey(), wrappedFor(1))
  await store.insertPlatformKey(handle, { version: 1, masterKeyId: master.id, wrapped, activeInSeconds: 0 })
}

/**
 * Returns the master key that older installations used as the first platform key. The signed head of an audit chain
 * shows which master key is the correct one.
 */
async function earlierKey(owner: Owner, masterKeys: MasterKeys): Promise<{ id: string; key: KeyObject } | undefined> {
  const head = await findAnyHead(owner)
  if (head === undefined) return undefined
  for (const id of masterKeys.ids) {
    const key = masterKeys.bare(id)
    const secrets = new Secrets([{ version: 1, activeFrom: new Date(0), key }])
    if (isGenuine(secrets, head.tenantId, head)) return { id, key }
  }
  throw new StartError(
    'The master key does not match this database: put master.key back into the home, or set MILLWRIGHT_MASTER_KEY to this key.',
  )
}

const passwordBytes = 32

/** Returns a password that is stored in the database. All processes share it, and only they can decrypt it. */
export async function sharedPassword(owner: Owner, secrets: Secrets, name: string): Promise<string> {
  const handle = ownerReference(owner)
  const find = () => store.findPlatformSecret(handle, name)
  if ((await find()) === undefined) {
    const fresh = randomBytes(passwordBytes).toString('base64url')
    await store.insertPlatformSecret(handle, name, secrets.seal(fresh, secretFor({ name })))
  }
  return (await secrets.open((await find()) ?? Buffer.alloc(0), secretFor({ name }))).toString()
}

/** Returns the associated data that binds a secret of the platform to its name. */
export function secretFor({ name }: { name: string }): string {
  return `platform secret/${name}`
}
