import type { Command } from 'commander'
import { usageError } from '../output/error-report.ts'
import { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'
import { Profiles } from './profiles.ts'
import { readClientConfiguration } from './settings.ts'

export function addCommands(command: Command, terminal: Terminal): void {
  const open = async () => new Profiles(await readClientConfiguration(terminal.environment))

  command
    .command('list', { isDefault: true })
    .description('list profiles; * is the current profile')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const profiles = await open()
      const current = await profiles.current()
      const data = (await profiles.list()).map(({ name, profile }) => ({
        inUse: name === current,
        name,
        url: profile.url,
        signedInAs: profile.name,
        tenant: profile.tenant,
        kind: profile.kind,
      }))
      await new Output(terminal, json ? 'json' : 'text').list(
        { data },
        {
          columns: {
            ' ': (row) => (row.inUse ? '*' : ''),
            name: 'name',
            platform: 'url',
            'signed in as': 'signedInAs',
            tenant: 'tenant',
            kind: ({ kind }) => (kind === 'program' ? 'service account' : 'user'),
          },
          nothing: 'No profiles yet: millwright login',
        },
      )
    })

  command
    .command('use')
    .description('select the current profile')
    .argument('<name>')
    .action(async (name: string) => {
      const profiles = await open()
      if ((await profiles.find(name)) === undefined)
        throw usageError(`Profile "${name}" not found.`, 'millwright profiles list')
      await profiles.use(name)
    })
}
