import { newPassword } from '@millwright/cloud/first-run.ts'
import type { Database, Scope } from '@millwright/cloud/platform/database/database.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import { findTenant } from '@millwright/cloud/platform/tenants/tenants.ts'
import { resetPassword } from '@millwright/cloud/services/identity/accounts/accounts.ts'
import { resetFactors } from '@millwright/cloud/services/identity/factors/reset-factors.ts'
import type { Command } from 'commander'
import type { Environment, Terminal } from '../output/terminal.ts'
import { withDatabaseOwner } from './database-owner.ts'

export function addCommands(users: Command, terminal: Terminal): void {
  users
    .command('reset-password <name>')
    .description('set a new password for a user (name or name@tenant); the password is printed once')
    .action(async (signInName: string) => {
      const password = newPassword()
      const user = await change(terminal.environment, signInName, ({ database, tenant, name }) =>
        resetPassword({ database }, tenant, { name, password }),
      )
      await terminal.print(`The password of ${user} is now ${password}. All sessions of the user have ended.`)
    })

  users
    .command('reset-second-factor <name>')
    .description('remove the second factors of a user (name or name@tenant) who can no longer sign in')
    .action(async (signInName: string) => {
      const user = await change(terminal.environment, signInName, ({ database, tenant, name }) =>
        resetFactors({ database }, tenant, name),
      )
      await terminal.print(`${user} no longer has a second factor. All sessions of the user have ended.`)
    })
}

type Change = (user: { database: Database; tenant: Scope; name: string }) => Promise<void>

/** Changes a user on the server, without an account. Returns the complete sign-in name. */
async function change(environment: Environment, signInName: string, work: Change): Promise<string> {
  const [name = '', tenantName = 'default'] = signInName.split('@')
  await withDatabaseOwner(environment, async (owner, { openDatabase }) => {
    const tenant = await findTenant(owner, tenantName)
    if (tenant === undefined) throw new StartError(`Tenant "${tenantName}" not found. Try: millwright tenants list`)
    await using database = await openDatabase()
    await work({ database, tenant: { tenantId: tenant.id }, name })
  })
  return `${name}@${tenantName}`
}
