import { listTenants } from '@millwright/cloud/platform/tenants/tenants.ts'
import { rotateSigningKey } from '@millwright/cloud/services/identity/signing-keys.ts'
import type { Command } from 'commander'
import { asOwner, recordForTenants } from './owner.ts'

export function addCommands(keys: Command): void {
  keys
    .command('rotate')
    .description('sign tokens with a new key; tokens of the old one stay valid until they expire')
    .action(async () => {
      await asOwner(async (owner, parts) => {
        await rotateSigningKey(owner, parts.secrets, parts.configuration)
        const tenants = (await listTenants(owner)).map(({ id }) => id)
        await recordForTenants(parts, tenants, { action: 'identity.rotateSigningKey' })
      })
      console.log(
        'A new key is published and signs within a minute. Tokens signed with the old one stay valid until they expire.',
      )
    })
}
