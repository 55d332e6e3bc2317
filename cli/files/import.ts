import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { assetColumnTargets, idTarget } from '@millwright/api/asset-columns.ts'
import type { SentFile } from '@millwright/api/contract.ts'
import { importFormats, importMediaTypes, imports, type MappedColumn } from '@millwright/api/imports.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Command } from 'commander'
import { parsePair } from '../input/json-input.ts'
import { propertyKey } from '../input/lookup.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { followImport } from './import-progress.ts'
import { mappingId } from './mappings.ts'

type Options = { dryRun?: boolean; mapping?: string; map?: string[]; saveMapping?: string; wait: boolean }

const propertyPrefix = 'custom_properties/'
const fields: readonly string[] = [idTarget, ...assetColumnTargets, `${propertyPrefix}<name>`]

export function addCommands(command: Command, terminal: Terminal): void {
  const importing = command
    .argument(
      '<file>',
      `file with assets: ${importFormats.map((format) => `.${format}`).join(', ')}, or an AAS environment in JSON or XML`,
    )
    .option('--dry-run', 'change nothing; show what the import would do with each row')
    .option('--mapping <mapping>', 'saved mapping of the columns: name or id')
    .option(
      '--map <heading=field>',
      'field of a column; an empty field ignores the column; repeatable; requires --save-mapping',
      collect,
    )
    .option('--save-mapping <name>', 'save the mapping of the columns of this file under this name, and use it')
    .option('--no-wait', 'exit when the file is uploaded')
  platformCommand(importing, terminal, start).addHelpText(
    'after',
    `
A row needs a MAC address, a serial number with its manufacturer, or the id of an asset. The row changes the asset with
this identifier. If there is none, the row creates an asset. Empty cells change nothing.

Fields: id, name, functional_object_type, description, manufacturer, product, order_number, serial_number,
hardware_version, firmware_version, mac_address, ip_address, access_group, hierarchy_path, parent,
custom_properties/<name>. An import without a mapping knows the headings of the template. To use the suggested fields of
other headings, add --save-mapping.

Examples:
  millwright imports template --output assets.xlsx
  millwright import assets.xlsx --dry-run
  millwright import assets.xlsx
  millwright imports columns vendor.csv
  millwright import vendor.csv --map 'Tag no=name' --save-mapping Vendor --dry-run
  millwright import vendor.csv --mapping Vendor`,
  )
}

async function start(session: Session, path: string, options: Options): Promise<void> {
  const { dryRun = false, wait } = options
  const file = await fileAt(path)
  const mapping = await mappingOf(session, { path, file, ...options })
  const answer = await session.api(imports).uploadFile({
    query: { dryRun, fileName: basename(path), ...(mapping === undefined ? {} : { mapping }) },
    body: file,
  })
  const { importId } = answer.data
  if (!wait)
    return session.output.done(
      `Import ${importId} accepted. To follow it: millwright imports show ${importId} --follow`,
      answer,
    )
  await followImport(session, importId)
}

/** Returns a file for the upload. Its content is read while it is sent. */
export async function fileAt(path: string): Promise<SentFile> {
  const extension = extname(path).slice(1).toLowerCase()
  const format = importFormats.find((one) => one === extension)
  const mediaType = format === undefined ? 'application/octet-stream' : importMediaTypes[format]
  try {
    const isFolder = (await stat(path)).isDirectory()
    if (!isFolder) return { mediaType, content: await openAsBlob(path, { type: mediaType }) }
  } catch {
    throw usageError(`${path} cannot be read.`, 'check the name of the file and its permissions')
  }
  throw usageError(`${path} is a folder.`, 'pass the name of a file')
}

type MappingOptions = Pick<Options, 'mapping' | 'map' | 'saveMapping'> & { path: string; file: SentFile }

/** Returns the id of the mapping of the columns, if there is one. Saves a new mapping if the user named one. */
async function mappingOf(session: Session, options: MappingOptions): Promise<string | undefined> {
  const { mapping, map = [], saveMapping, path, file } = options
  if (saveMapping === undefined) {
    if (map.length > 0) throw usageError('--map requires a name.', 'add --save-mapping with a name')
    return mapping === undefined ? undefined : mappingId(session, mapping)
  }
  if (mapping !== undefined) throw usageError('--mapping and --save-mapping cannot be combined.', 'pass one of them')
  const chosen = new Map(await Promise.all(map.map((text) => chosenColumn(session, text))))
  const suggested = await session.api(imports).suggestMapping({ query: { fileName: basename(path) }, body: file })
  const headings = new Set(suggested.data.columns.map(({ from }) => from))
  const unknown = [...chosen.keys()].find((heading) => !headings.has(heading))
  if (unknown !== undefined)
    throw usageError(`The file has no column "${unknown}".`, `its columns: ${[...headings].join(', ')}`)
  const columns: MappedColumn[] = suggested.data.columns.map(({ from, to }) => ({ from, to: chosen.get(from) ?? to }))
  const body = { data: { name: saveMapping, columns: columns.map((column) => ignored(column, chosen)) } }
  return (await session.api(imports).createMapping({ body }).catch(explainExisting)).data.id
}

function explainExisting(error: unknown): never {
  if (!(error instanceof Problem) || error.code !== 'already_exists') throw error
  throw new CommandError(error.message, {
    exitCode: exitCodes.conflict,
    next: 'use the mapping with --mapping, or delete it: millwright imports mappings delete <name>',
    cause: error,
  })
}

function ignored(column: MappedColumn, chosen: ReadonlyMap<string, string>): MappedColumn {
  return chosen.get(column.from) === '' ? { ...column, to: null } : column
}

/** Returns the heading and the field of `--map`. Custom properties are named by their name or key. */
async function chosenColumn(session: Session, text: string): Promise<[heading: string, field: string]> {
  const [heading, field] = parsePair(text, '--map')
  if (!field.startsWith(propertyPrefix)) {
    if (!['', ...fields].includes(field))
      throw usageError(`Unknown field "${field}".`, `use one of ${fields.join(', ')}`)
    return [heading, field]
  }
  return [heading, propertyPrefix + (await propertyKey(session, field.slice(propertyPrefix.length)))]
}
