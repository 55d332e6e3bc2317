import { type ExportRequest, exportFiles } from '@millwright/api/exports.ts'

/** The options of the command line for the fields of an export. */
const optionOf: Partial<Record<keyof ExportRequest, string>> = {
  filter: '--filter',
  relationsFilter: '--relations-filter',
  q: '--query',
  sort: '--sort',
  assetId: '--asset',
  depth: '--depth',
  hierarchyNode: '--node',
  unassignedIn: '--unassigned',
  hierarchyId: '--hierarchy',
}

const flagOf: Partial<Record<keyof ExportRequest, string>> = {
  caseInsensitive: '--ignore-case',
  includeBelow: '--below',
}

const entryOptionOf: Readonly<Record<string, string>> = { requestId: '--request' }

/** Quotes a word for a POSIX shell. */
function quoted(word: string): string {
  return /^[\w./:@,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Returns the command that creates the same export on the command line. */
export function commandFor(request: ExportRequest): string {
  const { what, format, columns, entries = {} } = request
  const words = ['millwright', 'export', what]
  for (const [field, option] of Object.entries(optionOf)) {
    const value = request[field as keyof ExportRequest]
    if (value !== undefined && value !== '') words.push(option, quoted(String(value)))
  }
  for (const [field, flag] of Object.entries(flagOf))
    if (request[field as keyof ExportRequest] === true) words.push(flag)
  for (const [name, value] of Object.entries(entries))
    if (value !== undefined) words.push(entryOptionOf[name] ?? `--${name}`, quoted(String(value)))
  if (columns !== undefined) words.push('--columns', quoted(columns.join(',')))
  words.push('--output', `${what}.${exportFiles[format].extension}`)
  return words.join(' ')
}

/** Returns the call of the API that creates the same export. */
export function callFor(request: ExportRequest): string {
  return `POST /exports/v1/files\nContent-Type: application/json\n\n${JSON.stringify({ data: request }, undefined, 2)}`
}
