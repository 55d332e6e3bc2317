import { Type } from 'typebox'
import type { Operation } from './contract.ts'
import { closed, data, Uuid } from './envelope.ts'

/** Shapes that the parts of the inventory contract share. */

/** An asset as it is written: checked against the schema it names, not here. */
export type AssetDocument = { [field: string]: unknown }

export const Document = Type.Unsafe<AssetDocument>(Type.Object({}, { additionalProperties: true }))

/** How many things one request may name. */
export const inventoryLimits = {
  batch: 1000,
  /** How many assets a service asks about at once, whether its caller can read them. */
  classified: 5000,
  /** As many assets as a batch may have, of the size that devices with many modules and annotations come to. */
  batchBytes: 8 * 1024 * 1024,
  bulk: 100,
  relationsDeletedById: 50,
  relationsDeletedByFilter: 100,
  filterBytes: 4096,
  filterTerms: 64,
  graphDepth: 10,
  graphNodes: 2000,
  topologyNodes: 10_000,
  /** Relations that one `relationsFilter` may follow on its way. */
  relationsFollowed: 10_000,
  /** Relations that an asset may have which is merged into another: they all move in one transaction. */
  relationsMerged: 10_000,
  historyDays: 36_500,
  statusWaitSeconds: 30,
  statusDays: 7,
  splitIdentifiers: 100,
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
  Type.Boolean({ default: false, description: 'Compare text without regard to case' }),
)

/** Further pages of a list at the same cost, however far it goes. */
export const cursorQuery = {
  cursor: Type.Optional(Type.String({ maxLength: 1024, description: 'meta.nextCursor of the page before' })),
  count: Type.Optional(Type.Boolean({ default: true, description: 'false spares the total' })),
}

export const freeText = Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Free text' }))

export const byId = closed({ id: Uuid })

export const waitHeaders = ['prefer', 'if-match'] as const

/** A write of one asset that is accepted now and applied in order. */
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
