import { distributeTables } from '@millwright/cloud/prepare.ts'
import type { Command } from 'commander'
import { asOwner } from './database-owner.ts'

export function addCommands(database: Command): void {
  database
    .command('distribute')
    .description('distribute the tables over a Citus cluster, by tenant')
    .addHelpText(
      'after',
      '\nDATABASE_URL must be the coordinator. Can be run again at any time; later versions do it by themselves.',
    )
    .action(async () => {
      const done = await asOwner((owner, { appRole }) => distributeTables(owner, appRole))
      const said = [
        ...done.distributed.map((name) => `${name}: by tenant`),
        ...done.reference.map((name) => `${name}: on every node`),
      ]
      console.log(said.length === 0 ? 'Everything was distributed already.' : said.join('\n'))
    })
}
