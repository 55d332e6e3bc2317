import { type ExportRequest, exportContents, exportFormats, exports, formatsOf } from '@millwright/api/exports.ts'
import { type Command, Option } from 'commander'
import { type AuditSelection, auditQuery, withAuditFilters } from '../access/audit.ts'
import { assetId, propertyKey } from '../input/lookup.ts'
import { hierarchyId } from '../input/node-lookup.ts'
import {
  filterQuery,
  type NodeOptions,
  nodeSelection,
  type Selection,
  withFilterOptions,
  withNodeOptions,
} from '../inventory/asset-queries.ts'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { checkOutput, saveExport } from './export-download.ts'

type What = (typeof exportContents)[number]
type Format = (typeof exportFormats)[number]

type Options = Selection &
  NodeOptions &
  AuditSelection & {
    format?: Format
    output?: string
    columns?: string
    asset?: string
    wait: boolean
  }

/** The extensions of file names that determine the format. */
const formatOfExtension: readonly (readonly [string, Format])[] = [
  ['.aas.json', 'aas-json'],
  ['.cdx.json', 'cyclonedx'],
  ...exportFormats
    .filter((format) => format !== 'aas-json' && format !== 'cyclonedx')
    .map((format) => [`.${format}`, format] as const),
]

const prefix = 'custom_properties/'

export function addCommands(command: Command, terminal: Terminal): void {
  const selecting = withNodeOptions(withFilterOptions(command.argument('<what>', exportContents.join(', '))))
    .addOption(
      new Option('--format <format>', 'format (default: from the name of the file, otherwise csv)').choices(
        exportFormats,
      ),
    )
    .option('-o, --output <file>', 'file to write; - is standard output (default: the name of the export)')
    .option('--columns <names>', 'columns of a table, separated by commas; custom_properties/<name> for a property')
    .option('--sort <properties>', 'sort order, such as name,-last_modified_timestamp')
    .option('--asset <asset>', 'only this asset, or the graph around it: id or name')
    .option('--no-wait', 'exit when the export is accepted')
  platformCommand(withAuditFilters(selecting), terminal, start)
    .addHelpText('after', formatHelp)
    .addHelpText(
      'after',
      `
Examples:
  millwright export assets --output plant.xlsx
  millwright export assets --query drive --columns name,serial_number --output drives.csv
  millwright export assets --asset 'Drive 12' --output drive.aasx
  millwright export assets --output plant.cdx.json
  millwright export hierarchy --hierarchy Plant --output plant.xlsx
  millwright export audit --from 2026-01-01T00:00:00.000Z --output audit.ndjson`,
    )
}

const formatHelp = `
The export contains the data that you can read. The platform stores it for 24 hours. "export hierarchy" exports all
hierarchies, or the one in --hierarchy.

Formats:
${exportContents.map((what) => `  ${what.padEnd(10)} ${formatsOf[what].join(', ')}`).join('\n')}`

async function start(session: Session, what: string, options: Options): Promise<void> {
  const request = await requestOf(session, what, options)
  if (options.wait) await checkOutput(options.output)
  const answer = await session.api(exports).createExport({ body: { data: request } })
  const { exportId } = answer.data
  if (!options.wait)
    return session.output.done(
      `Export ${exportId} accepted. To save it: millwright exports download ${exportId}`,
      answer,
    )
  await saveExport(session, exportId, options.output)
}

async function requestOf(session: Session, what: string, options: Options): Promise<ExportRequest> {
  const { asset, columns, hierarchy, node, unassigned, format = formatOf(options.output) ?? 'csv' } = options
  if (!isContent(what)) throw usageError(`Unknown content "${what}".`, `use one of ${exportContents.join(', ')}`)
  if (!formatsOf[what].includes(format))
    throw usageError(
      `${what} cannot be exported as ${format}.`,
      `use --format with one of ${formatsOf[what].join(', ')}`,
    )
  const entries = await auditQuery(session, options)
  const namesNode = node !== undefined || unassigned !== undefined
  return {
    what,
    format,
    ...filterQuery(options),
    ...(namesNode ? await nodeSelection(session, options) : {}),
    ...(hierarchy === undefined || namesNode ? {} : { hierarchyId: await hierarchyId(session, hierarchy) }),
    ...(asset === undefined ? {} : { assetId: await assetId(session, asset) }),
    ...(columns === undefined ? {} : { columns: await columnsOf(session, columns) }),
    ...(Object.keys(entries).length === 0 ? {} : { entries }),
  }
}

function isContent(text: string): text is What {
  return exportContents.some((content) => content === text)
}

function formatOf(file: string | undefined): Format | undefined {
  const name = (file ?? '').toLowerCase()
  return formatOfExtension.find(([extension]) => name.endsWith(extension))?.[1]
}

/** Returns the columns of the request. Custom properties are named by their name or key. */
async function columnsOf(session: Session, names: string): Promise<string[]> {
  const columns = names.split(',').map((name) => name.trim())
  return Promise.all(
    columns.map(async (column) =>
      column.startsWith(prefix) ? prefix + (await propertyKey(session, column.slice(prefix.length))) : column,
    ),
  )
}
