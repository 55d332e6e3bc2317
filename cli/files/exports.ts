import { type ExportFile, exports } from '@millwright/api/exports.ts'
import type { Command } from 'commander'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import { checkOutput, saveExport } from './export-download.ts'

export function addCommands(command: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(command.command('list').description('list your exports, newest first')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(exports).listExports({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          id: 'id',
          file: 'fileName',
          what: ({ request }) => (request as ExportFile['request']).what,
          state: 'state',
          progress: ({ progress }) => `${progress} %`,
          entries: 'rows',
          created: 'createdTimestamp',
          'stored until': 'expiresTimestamp',
        },
        nothing: 'No exports yet: millwright export assets --output plant.xlsx',
      })
    },
  )

  platformCommand(
    command.command('show').description('show the state of an export').argument('<id>'),
    terminal,
    async ({ api, output }, exportId: string) => output.show(await api(exports).readExport({ params: { exportId } })),
  )

  platformCommand(
    command
      .command('download')
      .description('save the file of an export; waits for the end of the export')
      .argument('<id>')
      .option('-o, --output <file>', 'file to write; - is standard output (default: the name of the export)'),
    terminal,
    async (session, exportId: string, { output }: { output?: string }) => {
      await checkOutput(output)
      await saveExport(session, exportId, output)
    },
  )

  platformCommand(
    command.command('cancel').description('cancel an export that waits or runs').argument('<id>'),
    terminal,
    async ({ api, output }, exportId: string) =>
      output.done(`Export ${exportId} canceled.`, await api(exports).cancelExport({ params: { exportId } })),
  )

  platformCommand(
    command.command('delete').description('delete an export and its file').argument('<id>'),
    terminal,
    async ({ api, output }, exportId: string) => {
      await api(exports).deleteExport({ params: { exportId } })
      await output.done(`Export ${exportId} deleted.`, { data: { exportId } })
    },
  )
}
