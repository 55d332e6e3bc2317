import { rotateDataKey, rotatePlatformKey } from '@millwright/cloud/platform/secrets/data-rotation.ts'
import { keyStatus } from '@millwright/cloud/platform/secrets/key-status.ts'
import { rewrapWithTransit, rotateMasterKey } from '@millwright/cloud/platform/secrets/master-rotation.ts'
import { Safe } from '@millwright/cloud/platform/secrets/safe.ts'
import { findTenant, listTenants } from '@millwright/cloud/platform/tenants/tenants.ts'
import { sealedColumns } from '@millwright/cloud/prepare.ts'
import { rotateSigningKey } from '@millwright/cloud/services/identity/signing-keys/signing-keys.ts'
import type { Command } from 'commander'
import { reportAndExit } from '../output/error-report.ts'
import { table } from '../output/table.ts'
import { asOwner, type OwnerParts, recordForTenants } from './database-owner.ts'

type Owner = Parameters<Parameters<typeof asOwner>[0]>[0]

export function addCommands(keys: Command): void {
  keys.addHelpText(
    'after',
    `
Three kinds of keys, one inside the other:
  The master key wraps all others. It is in master.key in the home, in MILLWRIGHT_MASTER_KEY, or wrapped by a transit
  key of Vault or OpenBao. It is in no backup of the database: keep a copy apart.
  Data keys, one per tenant, seal its secrets; the platform has one for its own.
  Signing keys sign access tokens.

Rotating any of them interrupts nothing. All of this works beside a running platform and without one.`,
  )

  keys
    .command('rotate')
    .description('create a new signing key; tokens of the old key stay valid until they expire')
    .action(async () => {
      await asOwner(async (owner, parts) => {
        await rotateSigningKey(owner, parts.secrets, parts.configuration)
        await recordForAll(owner, parts, { action: 'identity.rotateSigningKey' })
      })
      console.log(
        'A new key is published and signs within a minute. Tokens signed with the old one stay valid until they expire.',
      )
    })

  keys
    .command('rotate-master')
    .description('wrap all keys with a new master key')
    .option('--transit', 'with Vault: a new version of the transit key instead, which wraps the present master key')
    .addHelpText(
      'after',
      `
With a file a new key is made and put before the old one, which stays there for backups of before.
From the environment, give both to every process first, one process after the other:
  MILLWRIGHT_MASTER_KEY=<new> MILLWRIGHT_MASTER_KEY_PREVIOUS=<old>
With Vault or OpenBao a new root key is made and wrapped by the transit key. To move from a file or the environment to
Vault, set MILLWRIGHT_VAULT_ADDRESS beside what there is, restart, and run this.

One that was cut short goes on when it is run again.`,
    )
    .action(({ transit }: { transit?: boolean }) => (transit ? rotateTransit() : rotateMaster()))

  keys
    .command('rotate-data')
    .description('create new data keys and encrypt all secrets again')
    .option('--tenant <name>', 'of this tenant only (default: of all, and of the platform itself)')
    .addHelpText(
      'after',
      `
Use it after a master key may have been seen by others, and now and then. Everything is read and written once, in small
steps; old keys are deleted an hour after nothing is sealed with them any more, the platform's own after a day.

Example:
  millwright keys rotate-data --tenant plant-7`,
    )
    .action(({ tenant }: { tenant?: string }) => rotateData(tenant))

  keys
    .command('forget-master')
    .description('remove unused master keys from the file permanently')
    .option('--yes', 'do not ask for confirmation')
    .action(({ yes }: { yes?: boolean }) => forgetMaster(yes === true))

  keys
    .command('status')
    .description('list keys with their ages and pending rotations, never the keys themselves')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) => showStatus(json === true))
}

async function rotateMaster(): Promise<void> {
  const { from, to, rewrapped, resumed } = await asOwner(async (owner, parts) => {
    const done = await rotateMasterKey(owner, { masterKeys: parts.masterKeys, onStep: say })
    const detail = { from: done.from, to: done.to }
    await recordForAll(owner, parts, { action: 'keys.rotateMaster', target: `master-key/${done.to}`, detail })
    return done
  })
  console.log(
    `${resumed ? 'The rotation that was cut short is done' : 'Done'}: ${rewrapped} keys are wrapped by ${to}. ` +
      `Back it up now, apart from the database. Backups of before need ${from.join(', ')}.`,
  )
}

async function rotateTransit(): Promise<void> {
  const ids = await asOwner(async (owner, parts) => {
    const done = await rewrapWithTransit(owner, parts.masterKeys, { rotate: true })
    await recordForAll(owner, parts, { action: 'keys.rotateTransit', detail: { masterKeys: done } })
    return done
  })
  console.log(`Done: ${ids.join(', ')} is wrapped by a new version of the transit key.`)
}

async function rotateData(name: string | undefined): Promise<void> {
  await asOwner(async (owner, parts) => {
    const tenants = name === undefined ? await listTenants(owner) : [await wanted(owner, name)]
    const { masterKeys } = parts
    if (name === undefined) {
      const version = await rotatePlatformKey(owner, { masterKeys, columns: sealedColumns })
      console.log(`platform: key ${version} is there, in use within a minute`)
    }
    await using database = await parts.openDatabase()
    const safe = new Safe({ database, masterKeys })
    for (const { id, name } of tenants) {
      const onStep = (step: string) => say(`${name}: ${step}`)
      const done = await rotateDataKey(owner, { tenantId: id, safe, columns: sealedColumns, onStep })
      const { version, resealed, retired } = done
      const detail = { version, resealed, retired }
      await recordForTenants(parts, [id], { action: 'keys.rotateData', target: `data-key/${done.keyId}`, detail })
      console.log(`${name}: key ${version} seals; ${resealed} values were sealed anew, ${retired} keys retired`)
    }
  })
}

async function forgetMaster(isSure: boolean): Promise<void> {
  const ids = await asOwner(async (owner, { masterKeys }) => {
    const { master } = await keyStatus(owner, { masterKeys, columns: [] })
    const unused = master.filter(({ state, place }) => state === 'not used' && place === 'file').map(({ id }) => id)
    if (unused.length === 0 || isSure) return masterKeys.forget((id) => unused.includes(id))
    return reportAndExit(`Backups that need ${unused.join(', ')} are lost without a copy. Say it again with --yes`)
  })
  console.log(ids.length === 0 ? 'There is none to forget.' : `Forgotten: ${ids.join(', ')}.`)
}

async function showStatus(json: boolean): Promise<void> {
  const status = await asOwner((owner, { masterKeys }) => keyStatus(owner, { masterKeys, columns: sealedColumns }))
  if (json) return console.log(JSON.stringify(status))
  console.log(`Master keys\n${table(status.master)}\n\nPlatform keys\n${table(status.platform)}`)
  console.log(`\nData keys\n${status.data.length === 0 ? 'There are none yet.' : table(status.data)}`)
}

async function wanted(owner: Owner, name: string): Promise<{ id: string; name: string }> {
  const tenant = await findTenant(owner, name)
  return tenant ?? reportAndExit(`There is no tenant named ${name}: millwright tenants list shows all`)
}

type Entry = Parameters<typeof recordForTenants>[2]

async function recordForAll(owner: Owner, parts: OwnerParts, entry: Entry): Promise<void> {
  const tenants = (await listTenants(owner)).map(({ id }) => id)
  await recordForTenants(parts, tenants, entry)
}

/** Progress is for people: it goes where what is printed for programs does not. */
function say(step: string): void {
  process.stderr.write(`${step}\n`)
}
