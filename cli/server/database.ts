import { distributeTables } from '@millwright/cloud/prepare.ts'
import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { withDatabaseOwner } from './database-owner.ts'

export function addCommands(database: Command, terminal: Terminal): void {
  database
    .command('distribute')
    .description('distribute the tables over the workers of a Citus cluster, by tenant')
    .addHelpText(
      'after',
      '\nDATABASE_URL must be the coordinator. Stop the platform first. If the command is interrupted, run it again: it continues with the interrupted step. Upgrades distribute new tables automatically.',
    )
    .action(async () => {
      const print = (line: string) => void terminal.print(line)
      const { distributed, reference } = await withDatabaseOwner(
        terminal.environment,
        (owner, { appRole }) => distributeTables(owner, appRole, print),
        print,
      )
      await terminal.print(
        distributed.length + reference.length === 0
          ? 'All tables are distributed. All shards were checked.'
          : `Distributed ${distributed.length} tables by tenant and copied ${reference.length} tables to every node. All shards were checked.`,
      )
    })
}
