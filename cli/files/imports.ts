import { extname } from 'node:path'
import { type ImportRow, imports, rowOutcomes } from '@millwright/api/imports.ts'
import { type Command, Option } from 'commander'
import { usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { saveResponse } from './download.ts'
import { checkOutput } from './export-download.ts'
import { fileAt } from './import.ts'
import { errorsText, followImport } from './import-progress.ts'
import { addMappingCommands } from './mappings.ts'

export function addCommands(command: Command, terminal: Terminal): void {
  platformCommand(
    command
      .command('template')
      .description('save an empty table with the columns of your tenant')
      .option('-o, --output <file>', 'file to write: .xlsx or .csv; - is standard output', 'assets.xlsx'),
    terminal,
    async (session, { output }: { output: string }) => {
      const format = output === '-' ? 'xlsx' : extname(output).slice(1).toLowerCase()
      if (format !== 'xlsx' && format !== 'csv')
        throw usageError(`A template cannot be written to ${output}.`, 'use a file name that ends with .xlsx or .csv')
      await checkOutput(output)
      const query = { format }
      const response = await session.open(imports, 'readTemplate', { query })
      await saveResponse(session, response, { contract: imports, file: output, data: {} })
    },
  )

  platformCommand(
    command.command('columns').description('show the columns of a file and the suggested fields').argument('<file>'),
    terminal,
    columns,
  )

  platformCommand(
    withPagingOptions(command.command('list').description('list imports, newest first')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(imports).listImports({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          id: 'id',
          file: 'fileName',
          state: ({ state, dryRun }) => (dryRun ? `${state} (dry run)` : state),
          rows: 'rows',
          created: 'created',
          updated: 'updated',
          unchanged: 'unchanged',
          failed: 'failed',
          by: 'principalName',
          uploaded: 'createdTimestamp',
        },
        nothing: 'No imports yet: millwright import assets.xlsx --dry-run',
      })
    },
  )

  platformCommand(
    command
      .command('show')
      .description('show an import')
      .argument('<id>')
      .option('--follow', 'show the progress until the import ends'),
    terminal,
    async (session, importId: string, { follow = false }: { follow?: boolean }) => {
      if (follow) return followImport(session, importId)
      await session.output.show(await session.api(imports).readImport({ params: { importId } }))
    },
  )

  platformCommand(
    withPagingOptions(command.command('rows').description('list the result of each row').argument('<id>')).addOption(
      new Option('--outcome <outcome>', 'only rows with this outcome').choices(rowOutcomes),
    ),
    terminal,
    rows,
  )

  platformCommand(
    command
      .command('report')
      .description('save the uploaded table with the columns Result and Reason')
      .argument('<id>')
      .option('-o, --output <file>', 'file to write; - is standard output (default: the name of the report)'),
    terminal,
    async (session, importId: string, { output }: { output?: string }) => {
      await checkOutput(output)
      const response = await session.open(imports, 'readReport', { params: { importId } })
      await saveResponse(session, response, { contract: imports, file: output, data: { importId } })
    },
  )

  platformCommand(
    command
      .command('run')
      .description('run an import whose dry run has finished')
      .argument('<id>')
      .option('--no-wait', 'exit when the import is accepted'),
    terminal,
    async (session, importId: string, { wait }: { wait: boolean }) => {
      const answer = await session.api(imports).runImport({ params: { importId } })
      const { importId: id } = answer.data
      if (wait) return followImport(session, id)
      await session.output.done(`Import ${id} accepted.`, answer)
    },
  )

  platformCommand(
    command.command('cancel').description('cancel an import; rows that were already written remain').argument('<id>'),
    terminal,
    async ({ api, output }, importId: string) =>
      output.done(`Import ${importId} is being canceled.`, await api(imports).cancelImport({ params: { importId } })),
  )

  platformCommand(
    command
      .command('delete')
      .description('delete an import that has ended, with its file and results; assets stay')
      .argument('<id>'),
    terminal,
    async ({ api, output }, importId: string) => {
      await api(imports).deleteImport({ params: { importId } })
      await output.done(`Import ${importId} deleted.`, { data: { importId } })
    },
  )

  addMappingCommands(command, terminal)
}

async function columns(session: Session, path: string): Promise<void> {
  const answer = await session.api(imports).suggestMapping({ query: {}, body: await fileAt(path) })
  if (session.output.format === 'json') return session.output.show(answer)
  await session.output.list(
    { data: answer.data.columns },
    {
      columns: {
        column: 'from',
        field: ({ to }) => to ?? '(ignored)',
        'found by': 'reason',
        examples: 'examples',
      },
      nothing: 'The file has no columns.',
    },
  )
  if (session.output.isText && answer.data.columns.length > 0)
    session.terminal.note('To use these fields: millwright import <file> --save-mapping <name>')
}

type RowOptions = PagingOptions & { outcome?: ImportRow['outcome'] }

async function rows({ api, output }: Session, importId: string, options: RowOptions): Promise<void> {
  const { outcome, offset } = options
  if (offset > 0) throw usageError('The list of rows has no offset.', 'pass --all, or --outcome')
  const pages = pagesOf(options, ({ limit, cursor }) =>
    api(imports).listRows({
      params: { importId },
      query: { limit, ...(cursor === undefined ? {} : { cursor }), ...(outcome === undefined ? {} : { outcome }) },
    }),
  )
  await output.list(await pages, {
    columns: {
      row: 'row',
      result: 'outcome',
      asset: 'assetId',
      'matched by': ({ matchedBy }) => matchedBy,
      reason: (row) => errorsText(row as ImportRow),
    },
    nothing: 'No rows match.',
  })
}
