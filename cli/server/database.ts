import { distributeTables } from '@millwright/cloud/prepare.ts'
import type { Command } from 'commander'
import { withDatabaseOwner } from './database-owner.ts'

export function addCommands(database: Command): void {
  database
    .command('distribute')
    .description('distribute the tables over the workers of a Citus cluster, by tenant')
    .addHelpText(
      'after',
      '\nDATABASE_URL must be the coordinator. The command can be repeated. Upgrades distribute new tables automatically.',
    )
    .action(async () => {
      const done = await withDatabaseOwner((owner, { appRole }) => distributeTables(owner, appRole))
      const lines = [
        ...done.distributed.map((name) => `${name}: distributed by tenant`),
        ...done.reference.map((name) => `${name}: copied to every node`),
      ]
      console.log(lines.length === 0 ? 'All tables are already distributed.' : lines.join('\n'))
    })
}
