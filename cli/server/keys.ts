import { rotateDataKey, rotatePlatformKey } from '@millwright/cloud/platform/secrets/data-rotation.ts'
import { keyStatus } from '@millwright/cloud/platform/secrets/key-status.ts'
import { rewrapWithTransit, rotateMasterKey } from '@millwright/cloud/platform/secrets/master-rotation.ts'
import { Safe } from '@millwright/cloud/platform/secrets/safe.ts'
import { findTenant, listTenants } from '@millwright/cloud/platform/tenants/tenants.ts'
import { sealedColumns } from '@millwright/cloud/prepare.ts'
import { rotateSigningKey } from '@millwright/cloud/services/identity/signing-keys/signing-keys.ts'
import type { Command } from 'commander'
import { usageError } from '../output/error-report.ts'
import { table } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatCount } from '../output/text.ts'
import { type OwnerContext, recordForTenants, withDatabaseOwner } from './database-owner.ts'

type Owner = Parameters<Parameters<typeof withDatabaseOwner>[1]>[0]

export function addCommands(keys: Command, terminal: Terminal): void {
  keys.addHelpText(
    'after',
    `
The platform has three kinds of keys:
  The master key wraps all other keys. It is in master.key in the home, in MILLWRIGHT_MASTER_KEY, or wrapped by a transit
  key of Vault or OpenBao. Backups of the database do not contain it: store a copy separately.
  Data keys encrypt secrets. Each tenant has one, and the platform has one.
  Signing keys sign access tokens.

A rotation causes no interruption. The commands work while the platform runs and while it is stopped.`,
  )

  keys
    .command('rotate')
    .description('create a new signing key; tokens of the old key stay valid until they expire')
    .action(async () => {
      await withDatabaseOwner(terminal.environment, async (owner, parts) => {
        await rotateSigningKey(owner, parts.secrets, parts.configuration)
        await recordForAll(owner, parts, { action: 'identity.rotateSigningKey' })
      })
      await terminal.print(
        'A new key is published and signs within a minute. Tokens of the old key stay valid until they expire.',
      )
    })

  keys
    .command('rotate-master')
    .description('wrap all keys with a new master key')
    .option('--transit', 'with Vault: instead create a new version of the transit key that wraps the master key')
    .addHelpText(
      'after',
      `
Key in a file: the command creates a new key and puts it first in the file. The old key stays, for earlier backups.
Key in the environment: first set both variables for every process, and restart the processes one at a time:
  MILLWRIGHT_MASTER_KEY=<new> MILLWRIGHT_MASTER_KEY_PREVIOUS=<old>
Vault or OpenBao: the command creates a new root key, which the transit key wraps. To move from a file or the environment
to Vault, add MILLWRIGHT_VAULT_ADDRESS to the settings, restart, and run the command.

To continue an interrupted rotation, run the command again.`,
    )
    .action(({ transit }: { transit?: boolean }) => (transit ? rotateTransit(terminal) : rotateMaster(terminal)))

  keys
    .command('rotate-data')
    .description('create new data keys and encrypt all secrets again with them')
    .option('--tenant <name>', 'only this tenant (default: all tenants and the platform)')
    .addHelpText(
      'after',
      `
Use it regularly, and always after a master key may have been disclosed. The command reads and writes every secret once, in
small steps. Old data keys are deleted one hour after their last use, the old key of the platform after one day.

Example:
  millwright keys rotate-data --tenant plant-7`,
    )
    .action(({ tenant }: { tenant?: string }) => rotateData(terminal, tenant))

  keys
    .command('forget-master')
    .description('permanently delete unused master keys from the file')
    .option('--yes', 'do not ask for confirmation')
    .action(({ yes }: { yes?: boolean }) => forgetMaster(terminal, yes === true))

  keys
    .command('status')
    .description('list the ids and ages of the keys, and the number of values of each key; never prints a key itself')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) => showStatus(terminal, json === true))
}

async function rotateMaster(terminal: Terminal): Promise<void> {
  const { from, to, rewrapped, resumed } = await withDatabaseOwner(terminal.environment, async (owner, parts) => {
    const done = await rotateMasterKey(owner, { masterKeys: parts.masterKeys, onStep: terminal.note })
    const detail = { from: done.from, to: done.to }
    await recordForAll(owner, parts, { action: 'keys.rotateMaster', target: `master-key/${done.to}`, detail })
    return done
  })
  await terminal.print(
    `${resumed ? 'The interrupted rotation is done' : 'Done'}: ${formatCount(rewrapped, 'key')} wrapped by master key ${to}. ` +
      `Back up the master key now, separately from the database. Earlier backups need ${from.join(', ')}.`,
  )
}

async function rotateTransit(terminal: Terminal): Promise<void> {
  const ids = await withDatabaseOwner(terminal.environment, async (owner, parts) => {
    const done = await rewrapWithTransit(owner, parts.masterKeys, { rotate: true })
    await recordForAll(owner, parts, { action: 'keys.rotateTransit', detail: { masterKeys: done } })
    return done
  })
  await terminal.print(`Done. Master keys wrapped by a new version of the transit key: ${ids.join(', ')}.`)
}

async function rotateData(terminal: Terminal, name: string | undefined): Promise<void> {
  await withDatabaseOwner(terminal.environment, async (owner, parts) => {
    const tenants = name === undefined ? await listTenants(owner) : [await requireTenant(owner, name)]
    const { masterKeys } = parts
    if (name === undefined) {
      const version = await rotatePlatformKey(owner, { masterKeys, columns: sealedColumns })
      await terminal.print(`platform: key ${version} created, in use within a minute`)
    }
    await using database = await parts.openDatabase()
    const safe = new Safe({ database, masterKeys })
    for (const { id, name } of tenants) {
      const onStep = (step: string) => terminal.note(`${name}: ${step}`)
      const done = await rotateDataKey(owner, { tenantId: id, safe, columns: sealedColumns, onStep })
      const { version, resealed, retired } = done
      const detail = { version, resealed, retired }
      await recordForTenants(parts, [id], { action: 'keys.rotateData', target: `data-key/${done.keyId}`, detail })
      await terminal.print(
        `${name}: key ${version} in use; ${formatCount(resealed, 'value')} encrypted again, ${formatCount(retired, 'key')} retired`,
      )
    }
  })
}

async function forgetMaster(terminal: Terminal, isSure: boolean): Promise<void> {
  const ids = await withDatabaseOwner(terminal.environment, async (owner, { masterKeys }) => {
    const { master } = await keyStatus(owner, { masterKeys, columns: [] })
    const unused = master.filter(({ state, place }) => state === 'not used' && place === 'file').map(({ id }) => id)
    if (unused.length === 0 || isSure) return masterKeys.forget((id) => unused.includes(id))
    throw usageError(
      `Backups that need ${unused.join(', ')} cannot be restored without a copy of the key. To confirm, pass --yes`,
    )
  })
  await terminal.print(ids.length === 0 ? 'No unused master keys.' : `Deleted: ${ids.join(', ')}.`)
}

async function showStatus(terminal: Terminal, json: boolean): Promise<void> {
  const status = await withDatabaseOwner(terminal.environment, (owner, { masterKeys }) =>
    keyStatus(owner, { masterKeys, columns: sealedColumns }),
  )
  if (json) return terminal.print(JSON.stringify(status))
  await terminal.print(`Master keys\n${table(status.master)}\n\nPlatform keys\n${table(status.platform)}`)
  await terminal.print(`\nData keys\n${status.data.length === 0 ? 'No data keys yet.' : table(status.data)}`)
}

async function requireTenant(owner: Owner, name: string): Promise<{ id: string; name: string }> {
  const tenant = await findTenant(owner, name)
  if (tenant === undefined) throw usageError(`Tenant "${name}" not found. Try: millwright tenants list`)
  return tenant
}

type Entry = Parameters<typeof recordForTenants>[2]

async function recordForAll(owner: Owner, parts: OwnerContext, entry: Entry): Promise<void> {
  const tenants = (await listTenants(owner)).map(({ id }) => id)
  await recordForTenants(parts, tenants, entry)
}
