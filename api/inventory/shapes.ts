import { Type } from 'typebox'
import type { Operation } from '../contract.ts'
import { closed, data, Uuid } from '../envelope.ts'

/** Schemas that the parts of the inventory contract share. */

/** An asset in a request. It is validated with the schema that it names. */
export type AssetDocument = { [field: string]: unknown }

export const Document = Type.Unsafe<AssetDocument>(Type.Object({}, { additionalProperties: true }))

/** The limits of one request. */
export const inventoryLimits = {
  batch: 1000,
  /** The maximum number of assets in one visibility query of a service. */
  classified: 5000,
  /**
   * The maximum size of a batch in bytes. It is enough for the maximum number of assets with many modules and annotations.
   */
  batchBytes: 8 * 1024 * 1024,
  bulk: 100,
  relationsDeletedById: 50,
  relationsDeletedByFilter: 100,
  filterBytes: 4096,
  filterTerms: 64,
  graphDepth: 10,
  graphNodes: 2000,
  topologyNodes: 10_000,
  /** The maximum numbers of groups, of assets and of edges in one group of the topology. */
  topologyGroups: 300,
  topologyGroupAssets: 1000,
  topologyEdges: 5000,
  /** The maximum number of assets that were removed in the compared time and are assigned to groups. */
  topologyRemovedAssets: 5000,
  /** The maximum number of assets that one impact query follows, and of impact reports of a tenant. */
  impactAssets: 5000,
  impactReports: 500,
  /** The maximum number of groups on a map with all assets. */
  topologyTreeNodes: 5000,
  /** An asset with at least this many connections is a switch in the topology. */
  switchConnections: 3,
  /** The maximum number of relations that one `relationsFilter` follows. */
  relationsFollowed: 10_000,
  /** The maximum number of relations of an asset that is merged into another asset. One transaction moves all of them. */
  relationsMerged: 10_000,
  /** The maximum number of nodes of hierarchies to which relations of one asset can be created. */
  nodesPerAsset: 200,
  historyDays: 36_500,
  statusWaitSeconds: 30,
  statusDays: 7,
  splitIdentifiers: 100,
  /** The maximum number of assets or relations on one page that the export service reads. */
  exportPage: 1000,
  /** The maximum number of assets in one query of the update hub. */
  devices: 10_000,
  /** The maximum number of assets and of relations that are read to find how assets are connected. */
  connectedAssets: 100_000,
  connections: 400_000,
  /** The maximum number of relations between an asset and the assets from which the search starts. */
  connectionDepth: 64,
  /** The maximum number of combinations of product and version that are returned. */
  productVersions: 50_000,
  /** The maximum number of address ranges in the conditions of one query. */
  matchedRanges: 64,
  /** The maximum number of onboarding rules in one query of the inbox service. */
  matchedRules: 50,
  /** The maximum number of facets in one query of the inbox service. */
  countedFacets: 10,
  /** The maximum number of nodes in one query of the hierarchy service. */
  nodesPerQuery: 200_000,
} as const

export const sourceTypes = ['discovery', 'assetlinkdiscovery', 'manual'] as const
export type SourceType = (typeof sourceTypes)[number]

export const managementStates = ['regarded', 'ignored', 'unknown'] as const
export const reachabilityStates = ['reached', 'failed', 'unknown'] as const
export const trustStates = ['trusted', 'pending', 'failed'] as const

export const responsible = Type.String({ minLength: 1, maxLength: 256 })
export const propertyValue = Type.Union([Type.String({ maxLength: 512 }), Type.Number(), Type.Boolean()])

export function oneOf<const Values extends readonly string[]>(values: Values) {
  return Type.Unsafe<Values[number]>(Type.String({ enum: [...values] }))
}

export const Accepted = data(
  closed({
    statusId: Uuid,
    state: Type.Optional(Type.String()),
    detail: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
)

export const filterText = Type.String({ maxLength: inventoryLimits.filterBytes })
export const caseInsensitive = Type.Optional(
  Type.Boolean({ default: false, description: 'Ignore case in text comparisons' }),
)

/**
 * The parameters of lists with a cursor. With a cursor, reading a later page costs no more than reading the first page.
 */
export const cursorQuery = {
  cursor: Type.Optional(Type.String({ maxLength: 1024, description: '`meta.nextCursor` of the previous page' })),
  count: Type.Optional(Type.Boolean({ default: true, description: 'false omits the total, which saves time' })),
}

export const freeText = Type.Optional(
  Type.String({ minLength: 1, maxLength: 256, description: 'Text search by word prefixes' }),
)

/** The numbers of assets by the values of a property. */
export const FacetCounts = Type.Array(
  closed({ value: Type.Union([Type.String(), Type.Null()]), count: Type.Integer() }),
)

export const byId = closed({ id: Uuid })

export const waitHeaders = ['prefer', 'if-match'] as const

/**
 * Returns an operation that writes assets. The service first accepts the write and applies it later, in the order of
 * acceptance.
 */
export function accepted<const O extends Pick<Operation, 'method' | 'path' | 'summary'> & Partial<Operation>>(
  operation: O,
) {
  return {
    access: 'inventory_write_asset_data',
    headers: waitHeaders,
    answers: { 202: Accepted },
    ...operation,
    errors: ['not_found', 'asset_not_found', ...(operation.errors ?? [])],
  } as const
}
