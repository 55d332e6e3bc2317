import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Command } from 'commander'
import { assetId } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'

export function addCommands(reports: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(
      reports
        .command('list')
        .description('list impact reports, newest first')
        .option('--asset <asset>', 'only reports of this asset: id or name'),
    ),
    terminal,
    async (session, { asset, ...options }: PagingOptions & { asset?: string }) => {
      const id = asset === undefined ? undefined : await assetId(session, asset)
      const pages = pagesOf(options, ({ limit, offset }) =>
        session
          .api(inventory)
          .listImpactReports({ query: { limit, offset, ...(id === undefined ? {} : { asset: id }) } }),
      )
      await session.output.list(await pages, {
        columns: {
          name: 'name',
          mode: 'mode',
          affected: 'affected',
          degraded: 'degraded',
          author: 'principalName',
          created: 'createdTimestamp',
          id: 'id',
        },
        nothing: 'No impact reports.',
      })
    },
  )

  platformCommand(
    reports.command('show').description('show an impact report').argument('<id>'),
    terminal,
    async ({ api, output }, id: string) => {
      const answer = await api(inventory).readImpactReport({ params: { id } })
      if (!output.isText) return output.show(answer)
      await output.list(
        { data: answer.data.impact.assets },
        {
          columns: { name: 'name', class: 'class', effect: 'effect', reason: 'reason', depth: 'depth', id: 'id' },
          nothing: 'No other asset is affected.',
        },
      )
    },
  )

  platformCommand(
    reports.command('delete').description('delete an impact report').argument('<id>'),
    terminal,
    async ({ api, output }, id: string) => {
      await api(inventory).deleteImpactReport({ params: { id } })
      await output.done(`Report ${id} deleted`, { data: { id } })
    },
  )
}
