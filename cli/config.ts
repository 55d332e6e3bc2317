import { describeConfiguration } from '@millwright/cloud/platform/configuration.ts'
import { cloudSettings, readCloudConfiguration } from '@millwright/cloud/settings.ts'
import type { Command } from 'commander'
import { Output } from './output/output.ts'
import { clientSettings } from './session/settings.ts'
import type { Terminal } from './terminal.ts'

export function addCommands(config: Command, terminal: Terminal): void {
  config.option('--json', 'for programs').action(async ({ json }: { json?: boolean }) => {
    const environment = { ...terminal.environment }
    readCloudConfiguration(environment)
    const data = describeConfiguration({ ...cloudSettings, ...clientSettings }, environment)
    if (json) return terminal.print(JSON.stringify(data))
    await new Output(terminal, 'text').list(
      { data },
      {
        columns: {
          variable: 'variable',
          value: ({ set, value }) => (set ? value : value === '' ? 'none' : `${value} (default)`),
          help: 'help',
        },
        nothing: '',
      },
    )
  })
}
