import { type Static, type TProperties, Type } from 'typebox'
import { assetLimits } from '../asset-schema.ts'
import { contract } from '../contract.ts'
import { closed, data, Name, page, pageQuery, Timestamp, Uuid } from '../envelope.ts'
import { changeOperations } from './changes.ts'
import { deviceOperations } from './devices.ts'
import { wholeOperations } from './document-write.ts'
import { exportPageOperations } from './export-pages.ts'
import { graphOperations } from './graph.ts'
import { identityOperations } from './identity.ts'
import { impactOperations } from './impact.ts'
import { importRowOperations } from './import-rows.ts'
import { nodeAssignmentOperations, nodeSelection } from './node-assignments.ts'
import { relationOperations } from './relations.ts'
import { schemaOperations } from './schemas.ts'
import { settingsOperations } from './settings.ts'
import {
  accepted,
  byId,
  caseInsensitive,
  cursorQuery,
  Document,
  FacetCounts,
  filterText,
  freeText,
  inventoryLimits,
  managementStates,
  oneOf,
  propertyValue,
  reachabilityStates,
  responsible,
  sourceTypes,
  trustStates,
} from './shapes.ts'
import { systemEventOperations } from './system-events.ts'
import { topologyGroupOperations } from './topology-groups.ts'
import { triageOperations } from './triage.ts'
import { visibilityOperations } from './visibility.ts'

export type { GraphEdge, GraphNode } from './graph.ts'
export { type Entity, entityTypes, Predicate, Relation, RelationChange } from './relations.ts'
export {
  type AssetDocument,
  inventoryLimits,
  managementStates,
  reachabilityStates,
  type SourceType,
  sourceTypes,
  trustStates,
} from './shapes.ts'

/**
 * The source of a write. A plain string is short for the type `discovery` with this string as its
 * `value`.
 */
const Source = Type.Union([
  Type.String({ minLength: 1, maxLength: 256 }),
  closed({
    type: Type.Optional(oneOf(sourceTypes)),
    value: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  }),
])
export type Source = Static<typeof Source>

const Meta = closed({
  source: Type.Optional(Source),
  discovery: Type.Optional(
    closed(
      { jobId: Uuid, runId: Uuid },
      { description: 'The discovery run of a gateway. The platform sets it; it is ignored for other callers.' },
    ),
  ),
  campaign: Type.Optional(
    closed(
      { id: Uuid, name: Name },
      { description: 'The campaign that updated a device. The platform sets it; it is ignored for other callers.' },
    ),
  ),
})

export const operationStates = ['queued', 'finished', 'failed'] as const

export const OperationStatus = closed({
  id: Uuid,
  state: oneOf(operationStates),
  detail: closed({ result: Type.Unknown() }),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type OperationStatus = Static<typeof OperationStatus>

function stateOf<const Values extends readonly string[]>(values: Values) {
  return closed({ state_value: oneOf(values) })
}

function bulk<Properties extends TProperties>(properties: Properties) {
  return data(Type.Array(closed({ asset_id: Uuid, ...properties }), { minItems: 1, maxItems: inventoryLimits.bulk }))
}

const itemResults =
  'Each item has its own result in `detail.result`, in the order of the request. An item with a missing, hidden or read-only asset gets a problem document (`asset_not_found` or `forbidden`), and the other items are applied. The status is `failed` only if no item was applied.'

const accessGroup = Type.String({ minLength: 1, maxLength: 128, description: 'Name or id of an access group' })

export const propertyTypes = ['text', 'number', 'boolean', 'date', 'url'] as const

export const CustomProperty = closed({
  key: Uuid,
  name: Name,
  data_type: oneOf(propertyTypes),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type CustomProperty = Static<typeof CustomProperty>

const fieldPointer = Type.String({ description: 'The JSON pointer of the field' })

const HistoryEntry = closed({
  version: Type.Integer({ minimum: 1 }),
  time: Timestamp,
  change: oneOf(['created', 'updated', 'deleted'] as const),
  principal: Type.Union([Uuid, Type.Null()]),
  principalName: Type.String(),
  source: closed({ type: Type.String(), value: Type.Optional(Type.String()) }),
  matchedBy: Type.Optional(Type.Array(Document, { description: 'The identifiers that matched this asset' })),
  overruled: Type.Optional(
    Type.Array(closed({ field: fieldPointer, source: Type.String() }), {
      description:
        'The reported values that were not used, because the value of this source wins: a link, or `manual` for an edit',
    }),
  ),
  before: Type.Union([Document, Type.Null()]),
  after: Type.Union([Document, Type.Null()]),
})

const reportedValue = {
  source: Type.String({ description: 'The link that reported the value, or `manual` for an edit' }),
  since: Type.String({ format: 'date-time', description: 'The time since which the source has reported this value' }),
}

const FieldSource = closed({
  field: fieldPointer,
  ...reportedValue,
  others: Type.Array(closed({ ...reportedValue, value: Type.Unknown() }), {
    description: 'The values of other sources that are not used',
  }),
})

export const inventory = contract({
  name: 'inventory',
  title: 'Inventory',
  description: 'Assets, their identifiers and the relations between them.',
  version: '2.0.0',
  prefix: '/inventory/v2',
  formerPrefixes: [{ prefix: '/inventory/v2-earlyaccess', deprecatedOn: '2026-11-01', sunsetOn: '2028-12-31' }],
  operations: {
    listAssets: {
      method: 'GET',
      path: '/assets',
      summary: 'List matching assets',
      access: 'inventory_read_asset_data',
      query: closed({
        ...pageQuery,
        ...cursorQuery,
        filter: Type.Optional(filterText),
        relationsFilter: Type.Optional(filterText),
        depth: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: inventoryLimits.graphDepth,
            default: 1,
            description: 'Maximum length of a chain of relations that `relationsFilter` follows',
          }),
        ),
        caseInsensitive,
        sort: Type.Optional(Type.String({ maxLength: 1024, examples: ['name,-last_modified_timestamp'] })),
        q: freeText,
        fields: Type.Optional(Type.String({ maxLength: 1024, description: 'Only these fields, separated by commas' })),
        ...nodeSelection,
      }),
      answers: { 200: page(Document) },
      errors: [
        'invalid_filter',
        'unknown_property',
        'sort_on_array',
        'invalid_cursor',
        'graph_too_large',
        'node_not_found',
        'hierarchy_not_found',
      ],
    },
    createAsset: accepted({
      method: 'POST',
      path: '/assets',
      summary: 'Create an asset, or update the asset with these identifiers',
      validatesInWorker: true,
      query: closed({
        strict: Type.Optional(
          Type.Boolean({ default: false, description: 'Fail if the identifiers belong to two assets' }),
        ),
      }),
      body: data(closed({ asset: Document, meta: Type.Optional(Meta) })),
      errors: ['invalid_asset', 'schema_not_found', 'access_group_not_found', 'property_not_found', 'forbidden'],
    }),
    createAssets: accepted({
      method: 'POST',
      path: '/assets/batch',
      summary: 'Create or update many assets, with one status and one result per asset',
      validatesInWorker: true,
      description:
        'If an asset cannot be written (schema, unknown schema URL, access group, permission), its entry in `detail.result` is a problem document. The other assets are written.',
      batchItems: '/data/assets',
      query: closed({ strict: Type.Optional(Type.Boolean({ default: false })) }),
      bodyBytes: inventoryLimits.batchBytes,
      body: data(
        closed({
          assets: Type.Array(Document, { minItems: 1, maxItems: inventoryLimits.batch }),
          meta: Type.Optional(Meta),
        }),
      ),
    }),
    deleteAssets: accepted({
      method: 'DELETE',
      path: '/assets',
      summary: 'Delete assets and all their relations',
      description: itemResults,
      body: data(closed({ ids: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.bulk, uniqueItems: true }) })),
    }),
    readFacets: {
      method: 'GET',
      path: '/assets/facets',
      summary: 'Count assets by the values of a property',
      access: 'inventory_read_asset_data',
      query: closed({
        by: Type.String({ maxLength: 128, examples: ['functional_object_type'] }),
        filter: Type.Optional(filterText),
        caseInsensitive,
        q: freeText,
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
      }),
      answers: {
        200: data(FacetCounts),
      },
      errors: ['invalid_filter', 'unknown_property'],
    },
    readAsset: {
      method: 'GET',
      path: '/assets/{id}',
      summary: 'Read an asset, now or at an earlier time',
      access: 'inventory_read_asset_data',
      params: byId,
      query: closed({
        fields: Type.Optional(Type.String({ maxLength: 1024 })),
        at: Type.Optional(Type.String({ format: 'date-time', description: 'The state at this time' })),
      }),
      tagged: true,
      answers: { 200: data(Document) },
      errors: ['not_found', 'history_gone'],
    },
    readIdentifiers: {
      method: 'GET',
      path: '/assets/{id}/identifiers',
      summary: 'List the identifiers of an asset, lowest uncertainty first',
      access: 'inventory_read_asset_data',
      params: byId,
      answers: { 200: data(Type.Array(Document)) },
      errors: ['not_found'],
    },
    readHistory: {
      method: 'GET',
      path: '/assets/{id}/history',
      summary: 'List the changes of an asset with old and new values, newest first',
      access: 'inventory_read_asset_data',
      params: byId,
      query: closed(pageQuery),
      answers: { 200: page(HistoryEntry) },
      errors: ['not_found'],
    },
    readFieldSources: {
      method: 'GET',
      path: '/assets/{id}/field-sources',
      summary: 'List the sources of the fields of an asset that scans found, and the values that were not used',
      access: 'inventory_read_asset_data',
      params: byId,
      answers: { 200: data(Type.Array(FieldSource)) },
      errors: ['not_found'],
    },
    ...changeOperations,
    ...graphOperations,
    ...topologyGroupOperations,
    ...impactOperations,
    setManagementState: accepted({
      method: 'PATCH',
      path: '/assets/{id}/management-state',
      summary: 'Onboard or ignore an asset, or return it to the inbox',
      params: byId,
      body: data(stateOf(managementStates)),
    }),
    setReachabilityState: accepted({
      method: 'PATCH',
      path: '/assets/{id}/reachability-state',
      summary: 'Set the reachability of an asset',
      params: byId,
      body: data(
        closed({
          ...stateOf(reachabilityStates).properties,
          state_timestamp: Type.Optional({
            ...Timestamp,
            description: 'The time since which the asset has the state. Without it, or if it is in the future: now',
          } as typeof Timestamp),
        }),
      ),
    }),
    setTrustState: accepted({
      method: 'PATCH',
      path: '/assets/{id}/trust-state',
      summary: 'Set the trust state of an asset',
      params: byId,
      body: data(stateOf(trustStates)),
    }),
    setFirmwareVersion: accepted({
      method: 'PATCH',
      path: '/assets/{id}/firmware-version',
      summary: 'Set the firmware version of an asset',
      params: byId,
      body: data(
        closed({
          name: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
          version: Type.String({ minLength: 1, maxLength: 256 }),
        }),
      ),
    }),
    setAccessGroup: accepted({
      method: 'PATCH',
      path: '/assets/{id}/access-group',
      summary: 'Move an asset to another access group; requires write permission in both groups',
      params: byId,
      body: data(closed({ access_group: accessGroup })),
      errors: ['access_group_not_found', 'forbidden'],
    }),
    setResponsible: accepted({
      method: 'PATCH',
      path: '/assets/{id}/responsible',
      summary: 'Set the responsible user of an asset',
      params: byId,
      body: data(closed({ responsible })),
    }),
    setName: accepted({
      method: 'PATCH',
      path: '/assets/{id}/name',
      summary: 'Rename an asset; the name wins over later scans',
      params: byId,
      body: data(closed({ name: Type.String({ minLength: 1, maxLength: assetLimits.nameCharacters }) })),
      errors: ['invalid_asset'],
    }),
    setDescription: accepted({
      method: 'PATCH',
      path: '/assets/{id}/description',
      summary: 'Set the description of an asset; null removes it',
      params: byId,
      body: data(
        closed({
          description: Type.Union([Type.String({ minLength: 1, maxLength: assetLimits.textCharacters }), Type.Null()]),
        }),
      ),
      errors: ['invalid_asset'],
    }),
    setGatewayVersion: accepted({
      method: 'PATCH',
      path: '/gateways/{id}/version',
      summary: 'Set the version of a gateway',
      params: byId,
      body: data(closed({ version: Type.String({ minLength: 1, maxLength: 256 }) })),
    }),
    setPropertyValues: accepted({
      method: 'PATCH',
      path: '/asset-property-values',
      summary: 'Set values of custom properties of many assets',
      body: data(
        Type.Array(closed({ asset_id: Uuid, key: Uuid, value: propertyValue }), {
          minItems: 1,
          maxItems: inventoryLimits.bulk,
        }),
      ),
      description: itemResults,
    }),
    deletePropertyValues: accepted({
      method: 'DELETE',
      path: '/asset-property-values',
      summary: 'Remove values of custom properties from many assets',
      description: itemResults,
      body: data(Type.Array(closed({ asset_id: Uuid, key: Uuid }), { minItems: 1, maxItems: inventoryLimits.bulk })),
    }),
    setResponsibles: accepted({
      method: 'PATCH',
      path: '/asset-responsible',
      summary: 'Set the responsible user of many assets',
      description: itemResults,
      body: bulk({ responsible }),
    }),
    setManagementStates: accepted({
      method: 'PATCH',
      path: '/management-states',
      summary: 'Onboard or ignore many assets, or return them to the inbox',
      description: itemResults,
      body: bulk({ state_value: oneOf(managementStates) }),
    }),
    setAccessGroups: accepted({
      method: 'PATCH',
      path: '/asset-access-groups',
      summary: 'Move many assets to other access groups',
      description: itemResults,
      body: bulk({ access_group: accessGroup }),
    }),
    ...identityOperations,
    ...triageOperations,
    ...systemEventOperations,
    ...visibilityOperations,
    ...deviceOperations,
    ...nodeAssignmentOperations,
    ...exportPageOperations,
    ...wholeOperations,
    ...importRowOperations,
    ...settingsOperations,
    readStatus: {
      method: 'GET',
      path: '/status/{id}',
      summary: 'Read the status of an accepted write',
      waits: true,
      access: 'signed-in',
      params: byId,
      query: closed({
        wait: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: inventoryLimits.statusWaitSeconds,
            description: 'Seconds to wait for the final state',
          }),
        ),
      }),
      tagged: true,
      answers: { 200: data(OperationStatus) },
      errors: ['not_found'],
    },
    ...relationOperations,
    listCustomProperties: {
      method: 'GET',
      path: '/custom-properties',
      summary: 'List custom properties by name',
      access: 'inventory_read_asset_data',
      query: closed(pageQuery),
      answers: { 200: page(CustomProperty) },
    },
    createCustomProperty: {
      method: 'POST',
      path: '/custom-properties',
      summary: 'Create a custom property',
      access: 'glb_schema_write',
      body: data(closed({ name: Name, data_type: Type.Optional(oneOf(propertyTypes)) })),
      answers: { 201: data(CustomProperty) },
    },
    readCustomProperty: {
      method: 'GET',
      path: '/custom-properties/{key}',
      summary: 'Read a custom property',
      access: 'inventory_read_asset_data',
      params: closed({ key: Uuid }),
      tagged: true,
      answers: { 200: data(CustomProperty) },
      errors: ['not_found'],
    },
    updateCustomProperty: {
      method: 'PATCH',
      path: '/custom-properties/{key}',
      summary: 'Rename a custom property',
      access: 'glb_schema_write',
      params: closed({ key: Uuid }),
      headers: ['if-match'],
      body: data(closed({ name: Name })),
      answers: { 200: data(CustomProperty) },
      errors: ['not_found', 'precondition_failed'],
    },
    ...schemaOperations,
  },
})
