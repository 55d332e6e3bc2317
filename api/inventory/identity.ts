import { type Static, Type } from 'typebox'
import { closed, data, Name, page, pageQuery, Timestamp, Uuid } from '../envelope.ts'
import { accepted, byId, Document, inventoryLimits } from './shapes.ts'

/** Operations on the identity of assets: possible duplicates, merge, undo and split. */

/**
 * The names of the custom identifiers by which the platform recognises the assets of gateways and asset links. A discovered
 * device can neither have such an identifier nor change an asset that has one.
 */
export const platformIdentifiers = { gateway: 'gateway', assetLink: 'asset_link_instance' } as const

/**
 * The evidence for a possible duplicate: the identifiers of one write, and the asset that each identifier belongs to.
 */
const Evidence = closed({
  identifiers: Type.Array(closed({ assetId: Uuid, identifier: Document })),
  source: closed({ type: Type.String(), value: Type.Optional(Type.String()) }),
})

const Twin = closed({ id: Uuid, name: Type.Union([Type.String(), Type.Null()]) })

export const Duplicate = closed({
  asset: Twin,
  other: Twin,
  evidence: Evidence,
  firstSeenTimestamp: Timestamp,
  lastSeenTimestamp: Timestamp,
  dismissedTimestamp: Type.Union([Timestamp, Type.Null()]),
})
export type Duplicate = Static<typeof Duplicate>

export const IdentityConflict = closed({
  asset: Twin,
  gateway: Twin,
  jobId: Type.Union([Uuid, Type.Null()], { description: 'The discovery of the latest run' }),
  runId: Type.Union([Uuid, Type.Null()], { description: 'The latest run that found the device' }),
  deviceName: Type.Union([Type.String(), Type.Null()], { description: 'The name that the gateway reported' }),
  identifiers: Type.Array(Document, { description: 'The identifiers of the device that belong to the asset' }),
  firstSeenTimestamp: Timestamp,
  lastSeenTimestamp: Timestamp,
})
export type IdentityConflict = Static<typeof IdentityConflict>

export const Merge = closed({
  id: Uuid,
  assetId: Uuid,
  otherId: Uuid,
  otherName: Type.Union([Type.String(), Type.Null()]),
  identifiers: Type.Integer({ minimum: 0, description: 'Number of moved identifiers' }),
  principalName: Type.String(),
  mergedTimestamp: Timestamp,
  undoneTimestamp: Type.Union([Timestamp, Type.Null()]),
})
export type Merge = Static<typeof Merge>

export const identityOperations = {
  listDuplicates: {
    method: 'GET',
    path: '/duplicates',
    summary: 'List possible duplicates with their evidence, newest first',
    access: 'inventory_read_asset_data',
    query: closed({
      ...pageQuery,
      asset: Type.Optional(Uuid),
      dismissed: Type.Optional(Type.Boolean({ default: false, description: 'Dismissed pairs' })),
    }),
    answers: { 200: page(Duplicate) },
  },
  dismissDuplicate: {
    method: 'POST',
    path: '/duplicates/dismiss',
    summary: 'Dismiss a possible duplicate, or reopen it',
    access: 'inventory_write_asset_data',
    body: data(closed({ asset: Uuid, other: Uuid, dismissed: Type.Optional(Type.Boolean({ default: true })) })),
    answers: { 200: data(Duplicate) },
    errors: ['asset_not_found', 'not_found', 'forbidden'],
  },
  listIdentityConflicts: {
    method: 'GET',
    path: '/identity-conflicts',
    summary: 'List identity conflicts: devices found under an identifier of an asset that the gateway cannot write',
    description:
      'One entry for each asset and gateway, newest first, visible to callers who can read both. An entry ends when the gateway can write the asset and finds it again, or when one of the two is deleted.',
    access: 'inventory_read_asset_data',
    query: closed({ ...pageQuery, asset: Type.Optional(Uuid), gateway: Type.Optional(Uuid) }),
    answers: { 200: page(IdentityConflict) },
  },
  mergeAsset: accepted({
    method: 'POST',
    path: '/assets/{id}/merge',
    summary: 'Merge another asset into this one: identifiers, fields, property values and relations',
    params: byId,
    body: data(
      closed({
        other: Uuid,
        prefer: Type.Optional(
          Type.Unsafe<'this' | 'other'>(
            Type.String({
              enum: ['this', 'other'],
              default: 'this',
              description: 'The asset whose fields have precedence',
            }),
          ),
        ),
      }),
    ),
    errors: ['conflict', 'forbidden'],
  }),
  listMerges: {
    method: 'GET',
    path: '/assets/{id}/merges',
    summary: 'List the merges of an asset, newest first',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed(pageQuery),
    answers: { 200: page(Merge) },
    errors: ['not_found'],
  },
  undoMerge: accepted({
    method: 'POST',
    path: '/assets/{id}/merges/{mergeId}/undo',
    summary: 'Undo a merge: restore the other asset under its id, with its data',
    params: closed({ id: Uuid, mergeId: Uuid }),
    errors: ['conflict', 'forbidden'],
  }),
  splitAsset: accepted({
    method: 'POST',
    path: '/assets/{id}/split',
    summary: 'Split an asset: move some identifiers to a new asset',
    params: byId,
    body: data(
      closed({
        identifiers: Type.Array(Document, { minItems: 1, maxItems: inventoryLimits.splitIdentifiers }),
        name: Type.Optional(Name),
      }),
    ),
    errors: ['conflict', 'forbidden'],
  }),
} as const
