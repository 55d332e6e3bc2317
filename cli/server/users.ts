import { newPassword } from '@millwright/cloud/first-run.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import { findTenant } from '@millwright/cloud/platform/tenants/tenants.ts'
import { resetPassword } from '@millwright/cloud/services/identity/accounts/accounts.ts'
import type { Command } from 'commander'
import { asOwner } from './database-owner.ts'

export function addCommands(users: Command): void {
  users
    .command('reset-password <name>')
    .description('set a new password for a user (name@tenant; without suffix: default) and print it once')
    .action(async (given: string) => {
      const [name = '', tenantName = 'default'] = given.split('@')
      const password = newPassword()
      await asOwner(async (owner, { openDatabase }) => {
        const tenant = await findTenant(owner, tenantName)
        if (tenant === undefined)
          throw new StartError(`There is no tenant named ${tenantName}: millwright tenants list shows them.`)
        await using database = await openDatabase()
        await resetPassword({ database }, { tenantId: tenant.id }, { name, password })
      })
      console.log(
        `The password of ${name}@${tenantName} is now ${password} and all sign-ins with the old one have ended.`,
      )
    })
}
