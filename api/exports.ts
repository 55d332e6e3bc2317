import { type Static, Type } from 'typebox'
import { auditFilters } from './audit.ts'
import { contract, empty, media } from './contract.ts'
import { closed, data, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { exportLimits } from './export-limits.ts'
import { nodeSelection } from './inventory/node-assignments.ts'
import { filterText, freeText, inventoryLimits, oneOf } from './inventory/shapes.ts'
import type { Permission } from './permission.ts'

export { exportLimits } from './export-limits.ts'

/** The contents that can be exported. */
export const exportContents = ['assets', 'relations', 'hierarchy', 'audit', 'graph'] as const
export type ExportContent = (typeof exportContents)[number]

export const exportFormats = [
  'xlsx',
  'csv',
  'ndjson',
  'json',
  'aasx',
  'aas-json',
  'cyclonedx',
  'graphml',
  'dot',
] as const
export type ExportFormat = (typeof exportFormats)[number]

/** The formats of each content. Other combinations are refused. */
export const formatsOf: Readonly<Record<ExportContent, readonly ExportFormat[]>> = {
  assets: ['xlsx', 'csv', 'ndjson', 'json', 'aasx', 'aas-json', 'cyclonedx'],
  relations: ['xlsx', 'csv', 'ndjson', 'json'],
  hierarchy: ['xlsx', 'csv', 'ndjson', 'json'],
  audit: ['xlsx', 'csv', 'ndjson'],
  graph: ['graphml', 'dot', 'json'],
}

/** The permission that a content requires in addition to `glb_file_export`. */
export const exportPermissions: Readonly<Partial<Record<ExportContent, Permission>>> = {
  relations: 'glb_inventory_read_relation_data',
  hierarchy: 'glb_hierarchy_read',
  audit: 'glb_audit_read',
}

/** The media type and the file name extension of each format. */
export const exportFiles: Readonly<Record<ExportFormat, { mediaType: string; extension: string }>> = {
  xlsx: { mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', extension: 'xlsx' },
  csv: { mediaType: 'text/csv', extension: 'csv' },
  ndjson: { mediaType: 'application/x-ndjson', extension: 'ndjson' },
  json: { mediaType: 'application/json', extension: 'json' },
  aasx: { mediaType: 'application/asset-administration-shell-package', extension: 'aasx' },
  'aas-json': { mediaType: 'application/json', extension: 'aas.json' },
  cyclonedx: { mediaType: 'application/vnd.cyclonedx+json', extension: 'cdx.json' },
  graphml: { mediaType: 'application/graphml+xml', extension: 'graphml' },
  dot: { mediaType: 'text/vnd.graphviz', extension: 'dot' },
}

/** The fields of a request that apply to each content, in addition to `what` and `format`. */
export const selectionFieldsOf: Readonly<Record<ExportContent, readonly string[]>> = {
  assets: [
    'filter',
    'relationsFilter',
    'depth',
    'caseInsensitive',
    'q',
    'sort',
    'hierarchyNode',
    'includeBelow',
    'unassignedIn',
    'assetId',
    'columns',
  ],
  relations: ['filter', 'caseInsensitive', 'sort', 'columns'],
  hierarchy: ['hierarchyId', 'columns'],
  audit: ['entries', 'columns'],
  graph: ['filter', 'caseInsensitive', 'q', 'assetId', 'depth'],
}

export const exportStates = ['queued', 'running', 'finished', 'failed', 'canceled'] as const
export type ExportState = (typeof exportStates)[number]

/** The states of an export that can still change. */
export const unfinishedExportStates: readonly ExportState[] = ['queued', 'running']

export const ExportRequest = closed({
  what: oneOf(exportContents),
  format: oneOf(exportFormats),
  filter: Type.Optional(
    Type.Unsafe<string>({ ...filterText, description: 'Only objects that match this filter, as in their list' }),
  ),
  relationsFilter: Type.Optional(
    Type.Unsafe<string>({ ...filterText, description: 'Only assets with a relation that matches this filter' }),
  ),
  caseInsensitive: Type.Optional(Type.Boolean({ description: 'Ignore case in text comparisons' })),
  q: freeText,
  sort: Type.Optional(Type.String({ maxLength: 1024, examples: ['name,-last_modified_timestamp'] })),
  hierarchyNode: nodeSelection.hierarchyNode,
  includeBelow: Type.Optional(Type.Boolean({ description: 'With `hierarchyNode`: also assets of all nodes below' })),
  unassignedIn: nodeSelection.unassignedIn,
  columns: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: exportLimits.columns,
      uniqueItems: true,
      description:
        'The columns in their order: `name`, `mac_address`, `custom_properties/<key>`, … The default is all columns. Only for xlsx and csv',
    }),
  ),
  assetId: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: 'Only this asset, or the graph around this asset' }),
  ),
  depth: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: inventoryLimits.graphDepth,
      description:
        'The maximum length of a chain of relations: of `relationsFilter`, or of the graph around `assetId`. The default is 1',
    }),
  ),
  hierarchyId: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: 'Only this hierarchy. The default is all hierarchies' }),
  ),
  entries: Type.Optional(closed(auditFilters, { description: 'Only these entries of the audit trail' })),
})
export type ExportRequest = Static<typeof ExportRequest>

export const ExportFile = closed({
  id: Uuid,
  jobId: Uuid,
  state: oneOf(exportStates),
  request: ExportRequest,
  fileName: Type.String(),
  mediaType: Type.String(),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  rows: Type.Integer({
    minimum: 0,
    description:
      'The number of exported objects: assets (also in a graph and in a bill of materials), relations, nodes or entries',
  }),
  total: Type.Optional(Type.Integer({ description: 'The number of objects, as counted at the start' })),
  bytes: Type.Integer({ minimum: 0, description: 'The size of the content' }),
  problem: Type.Optional(closed({ code: Type.String(), detail: Type.String() })),
  principalName: Type.String(),
  createdTimestamp: Timestamp,
  startedTimestamp: Type.Optional(Timestamp),
  finishedTimestamp: Type.Optional(Timestamp),
  expiresTimestamp: Type.Optional(
    Type.Unsafe<string>({ ...Timestamp, description: 'The time at which the export is deleted' }),
  ),
  lastModifiedTimestamp: Timestamp,
})
export type ExportFile = Static<typeof ExportFile>

const exportParams = closed({ exportId: Uuid })
const [firstType, ...otherTypes] = [...new Set(Object.values(exportFiles).map(({ mediaType }) => mediaType))]

export const exports = contract({
  name: 'exports',
  title: 'Exports',
  description:
    'Exports of assets, relations, hierarchies, the audit trail and graphs to files. An export runs in the background ' +
    'with the current permissions of the user who started it. Only this user reads its content.',
  version: '1.0.0',
  prefix: '/exports/v1',
  operations: {
    createExport: {
      method: 'POST',
      path: '/files',
      summary: 'Start an export',
      description:
        'Hierarchies also require `glb_hierarchy_read`, relations `glb_inventory_read_relation_data`, the audit trail `glb_audit_read`. ' +
        `A user can have ${exportLimits.unfinishedOfUser} unfinished exports.`,
      access: 'glb_file_export',
      body: data(ExportRequest),
      answers: { 202: data(closed({ exportId: Uuid, jobId: Uuid })) },
      errors: [
        'conflict',
        'forbidden',
        'not_found',
        'invalid_filter',
        'unknown_property',
        'sort_on_array',
        'graph_too_large',
        'node_not_found',
        'hierarchy_not_found',
      ],
    },
    listExports: {
      method: 'GET',
      path: '/files',
      summary: 'List the exports of the caller, newest first',
      access: 'glb_file_export',
      query: closed(pageQuery),
      answers: { 200: page(ExportFile) },
    },
    readExport: {
      method: 'GET',
      path: '/files/{exportId}',
      summary: 'Read the state of an export',
      access: 'glb_file_export',
      params: exportParams,
      answers: { 200: data(ExportFile) },
      errors: ['not_found'],
    },
    readExportContent: {
      method: 'GET',
      path: '/files/{exportId}/content',
      summary: 'Download the file of a finished export',
      description:
        'Only the user who started the export downloads it. The user must still have all permissions and access groups with ' +
        'which the content was read. Otherwise the answer is `forbidden`, and a new export contains what the user can read now.',
      waits: true,
      access: 'glb_file_export',
      params: exportParams,
      answers: { 200: media(firstType ?? '', ...otherTypes) },
      errors: ['not_found', 'conflict', 'forbidden'],
    },
    cancelExport: {
      method: 'POST',
      path: '/files/{exportId}/cancel',
      summary: 'Cancel an export that waits or runs',
      access: 'glb_file_export',
      params: exportParams,
      answers: { 200: data(ExportFile) },
      errors: ['not_found', 'conflict'],
    },
    deleteExport: {
      method: 'DELETE',
      path: '/files/{exportId}',
      summary: 'Delete an export and its file; cancels the export if it has not ended',
      access: 'glb_file_export',
      params: exportParams,
      answers: { 204: empty },
      errors: ['not_found'],
    },
  },
})
