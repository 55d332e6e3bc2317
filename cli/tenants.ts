import { createAdministrator } from '@millwright/cloud/first-run.ts'
import {
  createTenant,
  deleteTenant,
  listTenants,
  provisionApplication,
  resumeTenant,
  suspendTenant,
  withdrawApplication,
} from '@millwright/cloud/platform/tenants/tenants.ts'
import { Argument, type Command } from 'commander'
import { asOwner } from './owner.ts'
import { reportAndExit } from './report.ts'
import { table } from './table.ts'

export function addTenantsCommands(program: Command): void {
  const tenants = program
    .command('tenants')
    .description('the tenants of this installation, kept apart in the database itself')

  tenants
    .command('list')
    .description('all tenants, with their state and applications')
    .option('--json', 'for programs')
    .action(async ({ json }: { json?: boolean }) => {
      const rows = await asOwner((owner) => listTenants(owner))
      if (rows.length === 0 && !json) return console.log('There are no tenants yet.')
      console.log(
        json ? JSON.stringify(rows) : table(rows.map((row) => ({ ...row, applications: row.applications.join(',') }))),
      )
    })

  tenants
    .command('create <name>')
    .description('make a tenant with an administrator; the password is printed once')
    .action(async (name: string) => {
      const made = await asOwner(async (owner, { openDatabase }) => {
        await using database = await openDatabase()
        const { id } = await createTenant(owner, { name })
        return createAdministrator(database, { tenantId: id }).catch(async (error: unknown) => {
          // Nobody could ever sign in to it, and its name would be taken.
          await suspendTenant(owner, name)
          await deleteTenant(owner, name)
          throw error
        })
      })
      console.log(`The tenant ${name} is there. Sign in as ${made.name}@${name} with the password ${made.password}`)
    })

  tenants
    .command('suspend <name>')
    .description('refuse everything of a tenant; nothing is lost')
    .action((name: string) => asOwner((owner) => suspendTenant(owner, name)))

  tenants
    .command('resume <name>')
    .description('let a suspended tenant work again')
    .action((name: string) => asOwner((owner) => resumeTenant(owner, name)))

  tenants
    .command('delete <name>')
    .description('delete a suspended tenant and everything it has, for good')
    .option('--yes', 'do it without asking')
    .action(async (name: string, { yes }: { yes?: boolean }) => {
      if (yes !== true) return reportAndExit(`This deletes everything of ${name} for good. Say it again with --yes`)
      await asOwner((owner) => deleteTenant(owner, name))
    })

  const application = () => new Argument('<application>', 'which one').choices(['api', 'ui'] as const)

  tenants
    .command('provision')
    .description('give a tenant an application: api (programs and gateways) or ui (people in the console)')
    .argument('<name>')
    .addArgument(application())
    .action((name: string, which: 'api' | 'ui') => asOwner((owner) => provisionApplication(owner, name, which)))

  tenants
    .command('withdraw')
    .description('take an application away')
    .argument('<name>')
    .addArgument(application())
    .action((name: string, which: 'api' | 'ui') => asOwner((owner) => withdrawApplication(owner, name, which)))
}
