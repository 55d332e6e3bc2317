import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createAdministrator } from '@millwright/cloud/first-run.ts'
import type { ArtefactSettings } from '@millwright/cloud/platform/service.ts'
import {
  createTenant,
  deleteTenant,
  findTenant,
  listTenants,
  type Owner,
  provisionApplication,
  resumeTenant,
  suspendTenant,
  withdrawApplication,
} from '@millwright/cloud/platform/tenants/tenants.ts'
import { artefactSettings } from '@millwright/cloud/settings.ts'
import { Argument, type Command } from 'commander'
import { reportAndExit } from '../output/error-report.ts'
import { table } from '../output/table.ts'
import { recordForTenants, withDatabaseOwner } from './database-owner.ts'

/** Deletes the contents of the artefacts of a deleted tenant in the home. Prints which objects of an S3 store remain. */
async function deleteArtefacts({ folder, s3 }: ArtefactSettings, tenantId: string): Promise<void> {
  await rm(join(folder, tenantId), { recursive: true, force: true })
  if (s3 === undefined) return
  const place = [`s3://${s3.bucket}`, s3.prefix, tenantId].filter((part) => part !== '').join('/')
  console.log(`Delete the artefacts of the tenant in the S3-compatible store: ${place}/`)
}

export function addCommands(tenants: Command): void {
  tenants
    .command('list')
    .description('list all tenants with their state and applications')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const rows = await withDatabaseOwner((owner) => listTenants(owner))
      if (rows.length === 0 && !json) return console.log('No tenants yet.')
      console.log(
        json ? JSON.stringify(rows) : table(rows.map((row) => ({ ...row, applications: row.applications.join(',') }))),
      )
    })

  tenants
    .command('create <name>')
    .description('create a tenant with an administrator; the password is printed once')
    .action(async (name: string) => {
      const made = await withDatabaseOwner(async (owner, { openDatabase }) => {
        await using database = await openDatabase()
        const { id } = await createTenant(owner, { name })
        // The result is awaited here, because the database is closed when this function returns.
        return await createAdministrator(database, { tenantId: id }).catch(async (error: unknown) => {
          // The tenant is deleted again: without an administrator, it could not be used, but would still occupy its
          // name.
          await suspendTenant(owner, name)
          await deleteTenant(owner, name)
          throw error
        })
      })
      console.log(`Tenant ${name} created. Sign in as ${made.name}@${name} with the password ${made.password}`)
    })

  tenants
    .command('suspend <name>')
    .description('reject all requests of a tenant; its data stays')
    .action((name: string) => changed(name, 'suspended', (owner) => suspendTenant(owner, name)))

  tenants
    .command('resume <name>')
    .description('resume a suspended tenant')
    .action((name: string) => changed(name, 'resumed', (owner) => resumeTenant(owner, name)))

  tenants
    .command('delete <name>')
    .description('permanently delete a suspended tenant and all its data')
    .option('--yes', 'do not ask for confirmation')
    .action(async (name: string, { yes }: { yes?: boolean }) => {
      if (yes !== true) return reportAndExit(`This permanently deletes all data of ${name}. To confirm, pass --yes`)
      await withDatabaseOwner(async (owner, { configuration }) => {
        const id = await deleteTenant(owner, name)
        await deleteArtefacts(artefactSettings(configuration, resolve(configuration.home)), id)
      })
    })

  const application = () => new Argument('<application>', 'application').choices(['api', 'ui'] as const)

  tenants
    .command('provision')
    .description('enable an application for a tenant: api (programs and gateways) or ui (console)')
    .argument('<name>')
    .addArgument(application())
    .action((name: string, which: 'api' | 'ui') =>
      changed(name, `given ${which}`, (owner) => provisionApplication(owner, name, which)),
    )

  tenants
    .command('withdraw')
    .description('disable an application of a tenant')
    .argument('<name>')
    .addArgument(application())
    .action((name: string, which: 'api' | 'ui') =>
      changed(name, `${which} withdrawn`, (owner) => withdrawApplication(owner, name, which)),
    )
}

/** Changes a tenant and records the change in its audit trail. */
function changed(name: string, what: string, change: (owner: Owner) => Promise<void>): Promise<void> {
  return withDatabaseOwner(async (owner, parts) => {
    await change(owner)
    const tenant = await findTenant(owner, name)
    if (tenant === undefined) return
    await recordForTenants(parts, [tenant.id], { action: 'tenants.change', target: `tenant/${name}`, detail: { what } })
  })
}
