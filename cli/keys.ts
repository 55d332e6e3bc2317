import { rotateSigningKey } from '@millwright/cloud/services/identity/signing-keys.ts'
import type { Command } from 'commander'
import { asOwner } from './owner.ts'

export function addKeysCommands(program: Command): void {
  const keys = program.command('keys').description('the keys of this installation')

  keys
    .command('rotate')
    .description('sign tokens with a new key; tokens of the old one stay valid until they expire')
    .action(async () => {
      await asOwner((owner, { secrets, configuration }) => rotateSigningKey(owner, secrets, configuration))
      console.log(
        'A new key is published and signs within a minute. Tokens signed with the old one stay valid until they expire.',
      )
    })
}
