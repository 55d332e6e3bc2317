import { writeFile } from 'node:fs/promises'
import { hierarchy, type PathRow } from '@millwright/api/hierarchy.ts'
import { type Command, Option } from 'commander'
import { parseJson, readText } from '../input/json-input.ts'
import { type HierarchyOption, hierarchyId } from '../input/node-lookup.ts'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import { splitResponse, textOf } from '../session/response-text.ts'
import { problemOf, type Session } from '../session/session.ts'
import { withHierarchyOption } from './node-arguments.ts'

type ImportOptions = HierarchyOption & { dryRun?: boolean }
type ExportOptions = HierarchyOption & { format?: 'csv' | 'json'; output?: string }

export function addExchange(command: Command, terminal: Terminal): void {
  platformCommand(
    withHierarchyOption(
      command
        .command('import')
        .description('create and update nodes from a file: all or none; no node is deleted or moved')
        .argument('<file>', 'CSV or JSON file in the format of the export, or - for standard input'),
    ).option('--dry-run', 'only show the number of changes'),
    terminal,
    importNodes,
  )

  platformCommand(
    withHierarchyOption(command.command('export').description('export all nodes, one row or object per node'))
      .addOption(
        new Option('--format <format>', 'format (default: from the name of the file, otherwise json)').choices([
          'csv',
          'json',
        ]),
      )
      .option('--output <file>', 'file to write (default: standard output)'),
    terminal,
    exportNodes,
  )
}

async function importNodes(
  session: Session,
  file: string,
  { dryRun = false, ...options }: ImportOptions,
): Promise<void> {
  const text = file === '-' ? await session.terminal.input() : await readText(file)
  const content = isJson(file, text) ? { nodes: nodesIn(text, file) } : { csv: text }
  const id = await hierarchyId(session, options.hierarchy)
  const body = { data: { ...content, dryRun } }
  const answer = await session.api(hierarchy).importNodes({ params: { id }, body })
  const { created, updated, unchanged, defaultTypes } = answer.data
  const types = defaultTypes === 0 ? '' : `. ${defaultTypes} got the default type of the template`
  const counts = `${created} created, ${updated} updated, ${unchanged} unchanged${types}`
  await session.output.done(dryRun ? `${counts} (dry run: nothing was changed)` : counts, answer)
}

/**
 * Returns true when the file contains JSON. The extension of the file decides. If it is neither csv nor json, the first
 * character of the text decides.
 */
function isJson(file: string, text: string): boolean {
  if (/\.(?:csv|json)$/i.test(file)) return /\.json$/i.test(file)
  return /^\s*[[{]/.test(text)
}

function nodesIn(text: string, file: string): PathRow[] {
  const document = parseJson(text, file === '-' ? 'Standard input' : file)
  const { data = document } = (document ?? {}) as { data?: unknown }
  const nodes = (data as { nodes?: unknown } | null)?.nodes ?? data
  if (Array.isArray(nodes)) return nodes as PathRow[]
  throw usageError(`${file} does not contain a list of nodes.`, 'use the format of millwright hierarchy export')
}

async function exportNodes(session: Session, { format, output, ...options }: ExportOptions): Promise<void> {
  const id = await hierarchyId(session, options.hierarchy)
  const query = { format: format ?? (output !== undefined && /\.csv$/i.test(output) ? 'csv' : 'json') }
  const response = await session.open(hierarchy, 'exportNodes', { params: { id }, query })
  if (response.status >= 400) {
    throw problemOf(hierarchy, { status: response.status, headers: response.headers, body: await response.json() })
  }
  if (output === undefined) {
    for await (const line of splitResponse(response, '\n')) await session.terminal.print(line)
    return
  }
  await writeFile(output, textOf(response)).catch(({ code }: NodeJS.ErrnoException) => {
    throw usageError(`${output} cannot be written (${code}).`)
  })
  await session.output.done(`${output} written`, { data: { file: output, ...query } })
}
