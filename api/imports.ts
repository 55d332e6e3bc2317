import { type Static, Type } from 'typebox'
import { assetColumnTargets, idTarget } from './asset-columns.ts'
import { contract, empty, media } from './contract.ts'
import { closed, data, fileBody, Name, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { importLimits } from './import-limits.ts'
import { Document, oneOf } from './inventory/shapes.ts'

export { importLimits } from './import-limits.ts'

/** The formats of files that can be imported, with their media types. */
export const importMediaTypes = {
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  aasx: 'application/asset-administration-shell-package',
} as const

export type ImportFormat = keyof typeof importMediaTypes
export const importFormats = Object.keys(importMediaTypes) as ImportFormat[]

/** The states of an import. `canceling` lasts until the results of the rows that are being written are stored. */
export const importStates = ['queued', 'running', 'canceling', 'finished', 'failed', 'canceled'] as const
export type ImportState = (typeof importStates)[number]

export const rowOutcomes = ['created', 'updated', 'unchanged', 'failed'] as const
export type RowOutcome = (typeof rowOutcomes)[number]

const fixedTargets: readonly string[] = [...assetColumnTargets, idTarget]

const Target = Type.String({
  maxLength: 64,
  pattern: `^(?:${fixedTargets.join('|')}|custom_properties/[0-9a-fA-F-]{36})$`,
  description: `${fixedTargets.join(', ')}, or custom_properties/<key>`,
})

const Heading = Type.String({
  minLength: 1,
  maxLength: importLimits.headingCharacters,
  description: 'The heading of a column',
})

const MappedColumn = closed({
  from: Heading,
  to: Type.Union([Target, Type.Null()], { description: 'The field of the asset; null ignores the column' }),
})
export type MappedColumn = Static<typeof MappedColumn>

const mappingFields = {
  name: Name,
  columns: Type.Array(MappedColumn, { minItems: 1, maxItems: importLimits.columns }),
}

export const ImportMapping = closed({
  id: Uuid,
  ...mappingFields,
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type ImportMapping = Static<typeof ImportMapping>

const counts = {
  rows: Type.Integer({ minimum: 0, description: 'The number of rows that were read from the file' }),
  created: Type.Integer({ minimum: 0 }),
  updated: Type.Integer({ minimum: 0 }),
  unchanged: Type.Integer({ minimum: 0 }),
  failed: Type.Integer({ minimum: 0 }),
}

export const Import = closed({
  id: Uuid,
  fileName: Type.String(),
  format: Type.Union([oneOf(importFormats), Type.Null()], { description: 'null until the file is recognised' }),
  bytes: Type.Integer({ minimum: 0 }),
  state: oneOf(importStates),
  dryRun: Type.Boolean({ description: 'Whether the import only shows what would happen' }),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  ...counts,
  columns: Type.Array(
    closed({
      from: Type.String({
        maxLength: importLimits.headingCharacters,
        description: 'The heading of the column; empty for a column without a heading',
      }),
      to: MappedColumn.properties.to,
    }),
    { description: 'The columns of the file and the fields that they are written to' },
  ),
  mappingId: Type.Optional(Uuid),
  problem: Type.Optional(closed({ code: Type.String(), detail: Type.String() })),
  jobId: Type.String({ description: 'The job of the import in /jobs/v1' }),
  principalName: Type.String(),
  canCancel: Type.Boolean(),
  canRun: Type.Boolean({ description: 'Whether the import is a finished dry run that can be run' }),
  createdTimestamp: Timestamp,
  startedTimestamp: Type.Optional(Timestamp),
  finishedTimestamp: Type.Optional(Timestamp),
})
export type Import = Static<typeof Import>

const RowError = closed({
  column: Type.Union([Type.String(), Type.Null()], {
    description: 'The heading of the column; null for the whole row',
  }),
  code: Type.String(),
  detail: Type.String({ description: 'What is wrong, with the heading of the column, and what to do' }),
})
export type RowError = Static<typeof RowError>

export const ImportRow = closed({
  row: Type.Integer({ minimum: 1, description: 'The number of the row in the file; the heading is row 1' }),
  outcome: oneOf(rowOutcomes),
  assetId: Type.Optional(Uuid),
  matchedBy: Type.Optional(
    Type.Array(Document, { description: 'The identifiers, or the id, by which an existing asset was found' }),
  ),
  errors: Type.Optional(Type.Array(RowError)),
  cells: Type.Array(Type.String(), {
    description: `The cells of the row, in the order of \`columns\`, or the document of the row. Cells above ${importLimits.shownCharacters} characters and documents above ${importLimits.shownDocumentCharacters} characters are shortened; the report contains all characters`,
  }),
})
export type ImportRow = Static<typeof ImportRow>

const SuggestedColumn = closed({
  from: Heading,
  to: MappedColumn.properties.to,
  reason: Type.Union([oneOf(['heading', 'values', 'mapping'] as const), Type.Null()], {
    description: 'Whether the heading, the values or a saved mapping determined the field; null without a suggestion',
  }),
  examples: Type.Array(Type.String(), { description: 'Some values of the column' }),
})

const Suggestion = closed({
  format: oneOf(importFormats),
  columns: Type.Array(SuggestedColumn),
  mappingId: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: 'The saved mapping with the same columns, if there is one' }),
  ),
})
export type MappingSuggestion = Static<typeof Suggestion>

const StartedImport = data(closed({ importId: Uuid, jobId: Type.String() }))
const byImport = closed({ importId: Uuid })
const byMapping = closed({ mappingId: Uuid })
const access = 'glb_file_import'

/** The codes of a file that cannot be imported. An import of such a file has the state `failed` and this problem. */
const fileErrors = [
  'unsupported_file',
  'damaged_file',
  'encrypted_file',
  'file_with_macros',
  'file_with_formulas',
  'file_with_external_links',
  'file_too_large',
  'file_without_rows',
] as const

const uploadedFile = {
  bodyType: 'multipart/form-data',
  bodyBytes: importLimits.fileBytes,
  fileTypes: [...Object.values(importMediaTypes), 'application/octet-stream'],
  body: fileBody,
  waits: true,
} as const

const fileName = Type.Optional(
  Type.String({ minLength: 1, maxLength: 256, description: 'The name of the file, if the body is the file itself' }),
)

export const imports = contract({
  name: 'imports',
  title: 'Imports',
  description: 'Import of assets from spreadsheets, CSV, NDJSON and Asset Administration Shells.',
  version: '1.0.0',
  prefix: '/imports/v1',
  operations: {
    readTemplate: {
      method: 'GET',
      path: '/template',
      summary: 'Download a template with the columns of this tenant',
      description: 'The template contains one column for each custom property, and lists of the allowed values.',
      access,
      query: closed({ format: Type.Optional(oneOf(['xlsx', 'csv'] as const)) }),
      answers: { 200: media(importMediaTypes.xlsx, 'text/csv; charset=utf-8') },
    },
    uploadFile: {
      method: 'POST',
      path: '/files',
      summary: 'Upload a file and import it in the background',
      description:
        'Send the file as the field `file` of a form, or as the body with its media type. With `dryRun`, nothing is written: the rows show what an import would do. Each row needs write permission in its access group.',
      access,
      ...uploadedFile,
      query: closed({
        dryRun: Type.Optional(Type.Boolean({ default: false })),
        mapping: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'The saved mapping of the columns' })),
        fileName,
      }),
      answers: { 202: StartedImport },
      errors: ['conflict', 'mapping_not_found'],
    },
    listImports: {
      method: 'GET',
      path: '/files',
      summary: 'List imports, newest first',
      description: 'A caller sees its own imports. A caller that reads all assets sees all imports.',
      access,
      query: closed(pageQuery),
      answers: { 200: page(Import) },
    },
    readImport: {
      method: 'GET',
      path: '/files/{importId}',
      summary: 'Read an import',
      access,
      params: byImport,
      answers: { 200: data(Import) },
      errors: ['not_found'],
    },
    deleteImport: {
      method: 'DELETE',
      path: '/files/{importId}',
      summary: 'Delete an import that has ended, with its file and its results',
      access,
      params: byImport,
      answers: { 204: empty },
      errors: ['not_found', 'conflict'],
    },
    listRows: {
      method: 'GET',
      path: '/files/{importId}/rows',
      summary: 'List the results of the rows of an import, in the order of the file',
      access,
      params: byImport,
      query: closed({
        ...pageQuery,
        outcome: Type.Optional(oneOf(rowOutcomes)),
        cursor: Type.Optional(Type.String({ maxLength: 64, description: '`meta.nextCursor` of the previous page' })),
      }),
      answers: { 200: page(ImportRow) },
      errors: ['not_found', 'invalid_cursor'],
    },
    readReport: {
      method: 'GET',
      path: '/files/{importId}/report',
      summary: 'Download the uploaded table with the columns `Result` and `Reason`',
      access,
      params: byImport,
      waits: true,
      answers: { 200: media(importMediaTypes.xlsx, 'text/csv; charset=utf-8', importMediaTypes.ndjson) },
      errors: ['not_found', 'conflict'],
    },
    cancelImport: {
      method: 'POST',
      path: '/files/{importId}/cancel',
      summary: 'Cancel an import',
      description: 'Rows that were already written remain.',
      access,
      params: byImport,
      answers: { 200: data(Import) },
      errors: ['not_found', 'conflict'],
    },
    runImport: {
      method: 'POST',
      path: '/files/{importId}/run',
      summary: 'Run an import whose dry run has finished',
      access,
      params: byImport,
      answers: { 202: StartedImport },
      errors: ['not_found', 'conflict'],
    },
    listMappings: {
      method: 'GET',
      path: '/mappings',
      summary: 'List saved mappings of columns, by name',
      access,
      query: closed(pageQuery),
      answers: { 200: page(ImportMapping) },
    },
    createMapping: {
      method: 'POST',
      path: '/mappings',
      summary: 'Save a mapping of columns, for example for one source of files',
      access,
      body: data(closed(mappingFields)),
      answers: { 201: data(ImportMapping) },
      errors: ['already_exists', 'conflict', 'property_not_found'],
    },
    suggestMapping: {
      method: 'POST',
      path: '/mappings/suggestions',
      summary: 'Suggest a mapping for the columns of a file',
      description: 'The headings, the values of the first rows and saved mappings determine the suggestion.',
      access,
      readOnly: true,
      ...uploadedFile,
      query: closed({ fileName }),
      answers: { 200: data(Suggestion) },
      errors: [...fileErrors],
    },
    updateMapping: {
      method: 'PUT',
      path: '/mappings/{mappingId}',
      summary: 'Replace a saved mapping',
      access,
      params: byMapping,
      body: data(closed(mappingFields)),
      answers: { 200: data(ImportMapping) },
      errors: ['not_found', 'already_exists', 'property_not_found'],
    },
    deleteMapping: {
      method: 'DELETE',
      path: '/mappings/{mappingId}',
      summary: 'Delete a saved mapping',
      access,
      params: byMapping,
      answers: { 204: empty },
      errors: ['not_found'],
    },
  },
})
