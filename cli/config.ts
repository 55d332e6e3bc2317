import { describeConfiguration } from '@millwright/cloud/platform/configuration.ts'
import { cloudSettings, readCloudConfiguration } from '@millwright/cloud/settings.ts'
import type { Command } from 'commander'
import { table } from './table.ts'

export function addCommands(config: Command): void {
  config.option('--json', 'for programs').action(({ json }: { json?: boolean }) => {
    readCloudConfiguration(process.env)
    const rows = describeConfiguration(cloudSettings, process.env)
    console.log(
      json
        ? JSON.stringify(rows)
        : table(
            rows.map(({ set, ...row }) => ({
              ...row,
              value: set ? row.value : row.value === '' ? 'none' : `${row.value} (default)`,
            })),
          ),
    )
  })
}
