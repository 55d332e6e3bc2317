import { newPassword } from '@millwright/cloud/first-run.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import { findTenant } from '@millwright/cloud/platform/tenants/tenants.ts'
import { resetPassword } from '@millwright/cloud/services/identity/accounts/accounts.ts'
import type { Command } from 'commander'
import { withDatabaseOwner } from './database-owner.ts'

export function addCommands(users: Command): void {
  users
    .command('reset-password <name>')
    .description('set a new password for a user (name or name@tenant); the password is printed once')
    .action(async (signInName: string) => {
      const [name = '', tenantName = 'default'] = signInName.split('@')
      const password = newPassword()
      await withDatabaseOwner(async (owner, { openDatabase }) => {
        const tenant = await findTenant(owner, tenantName)
        if (tenant === undefined) throw new StartError(`Tenant "${tenantName}" not found. Try: millwright tenants list`)
        await using database = await openDatabase()
        await resetPassword({ database }, { tenantId: tenant.id }, { name, password })
      })
      console.log(`The password of ${name}@${tenantName} is now ${password}. All sessions of the user have ended.`)
    })
}
