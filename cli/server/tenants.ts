import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createAdministrator } from '@millwright/cloud/first-run.ts'
import type { ArtefactSettings } from '@millwright/cloud/platform/service.ts'
import { listPlacements, moveTenant, type TransferMode } from '@millwright/cloud/platform/tenants/placement.ts'
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
import { usageError } from '../output/error-report.ts'
import { table } from '../output/table.ts'
import type { Environment, Terminal } from '../output/terminal.ts'
import { formatBytes } from '../output/text.ts'
import { recordForTenants, withDatabaseOwner, withOwnerConnection } from './database-owner.ts'

/** Deletes the contents of the artefacts of a deleted tenant in the home. Prints which objects of an S3 store remain. */
async function deleteArtefacts(terminal: Terminal, { folder, s3 }: ArtefactSettings, tenantId: string): Promise<void> {
  await rm(join(folder, tenantId), { recursive: true, force: true })
  if (s3 === undefined) return
  const place = [`s3://${s3.bucket}`, s3.prefix, tenantId].filter((part) => part !== '').join('/')
  await terminal.print(`Delete the artefacts of the tenant in the S3-compatible store: ${place}/`)
}

export function addCommands(tenants: Command, terminal: Terminal): void {
  const { environment } = terminal
  const changed = (name: string, what: string, change: Change) => changeTenant(environment, { name, what, change })

  tenants
    .command('list')
    .description('list all tenants with their state and applications')
    .option('--placement', 'show the worker, the shard and the estimated size of each tenant in a Citus cluster')
    .option('--json', 'print JSON')
    .action(async ({ json, placement }: { json?: boolean; placement?: boolean }) => {
      if (placement === true) return printPlacements(terminal, json === true)
      const rows = await withDatabaseOwner(environment, (owner) => listTenants(owner))
      if (rows.length === 0 && !json) return terminal.print('No tenants yet.')
      await terminal.print(
        json ? JSON.stringify(rows) : table(rows.map((row) => ({ ...row, applications: row.applications.join(',') }))),
      )
    })

  tenants
    .command('create <name>')
    .description('create a tenant with an administrator; the password is printed once')
    .action(async (name: string) => {
      const made = await withDatabaseOwner(environment, async (owner, { openDatabase }) => {
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
      await terminal.print(`Tenant ${name} created. Sign in as ${made.name}@${name} with the password ${made.password}`)
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
      if (yes !== true) throw usageError(`This permanently deletes all data of ${name}. To confirm, pass --yes`)
      await withDatabaseOwner(environment, async (owner, { configuration }) => {
        const id = await deleteTenant(owner, name)
        await deleteArtefacts(terminal, artefactSettings(configuration, resolve(configuration.home)), id)
      })
    })

  tenants
    .command('move <name>')
    .description('move the data of a tenant to another worker of a Citus cluster')
    .requiredOption('--to <worker>', 'host and port of the worker, as printed by tenants list --placement')
    .option('--block-writes', 'use no logical replication; writes of all tenants in the shard wait during the copy')
    .addHelpText(
      'after',
      `
Without --block-writes, requests of the tenant continue during the move, and its writes wait a short time at the end. If
other tenants are in the same shard, the tenant first gets its own shard. If the command is interrupted, run it again.`,
    )
    .action((name: string, { to, blockWrites }: { to: string; blockWrites?: boolean }) =>
      move(terminal, { name, to, mode: blockWrites === true ? 'block_writes' : 'auto' }),
    )

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

/** Needs no migrations and no master key, so that it works while a worker is down. */
async function printPlacements(terminal: Terminal, json: boolean): Promise<void> {
  const rows = await withOwnerConnection(terminal.environment, (owner) => listPlacements(owner))
  if (json) return terminal.print(JSON.stringify(rows))
  if (rows.length === 0) return terminal.print('No tenants yet.')
  const shown = rows.map(({ bytes, sharedWith, ...row }) => ({
    ...row,
    'shared with': sharedWith,
    size: bytes === null ? 'not reachable' : formatBytes(bytes),
  }))
  await terminal.print(table(shown))
}

async function move(terminal: Terminal, request: { name: string; to: string; mode: TransferMode }): Promise<void> {
  const { name, to } = request
  const moved = await withDatabaseOwner(terminal.environment, async (owner, parts) => {
    const done = await moveTenant(owner, request)
    if (done !== undefined) {
      const detail = { what: `moved from ${done.from} to ${done.to}` }
      await recordForTenants(parts, [done.tenantId], { action: 'tenants.change', target: `tenant/${name}`, detail })
    }
    return done
  })
  if (moved === undefined) return terminal.print(`Tenant ${name} is already on ${to}.`)
  const own = moved.isolated ? ' It has its own shard now.' : ''
  await terminal.print(`Tenant ${name} moved from ${moved.from} to ${moved.to}.${own}`)
}

type Change = (owner: Owner) => Promise<void>

/** Changes a tenant and records the change in its audit trail. */
function changeTenant(
  environment: Environment,
  { name, what, change }: { name: string; what: string; change: Change },
): Promise<void> {
  return withDatabaseOwner(environment, async (owner, parts) => {
    await change(owner)
    const tenant = await findTenant(owner, name)
    if (tenant === undefined) return
    await recordForTenants(parts, [tenant.id], { action: 'tenants.change', target: `tenant/${name}`, detail: { what } })
  })
}
