import { type Static, Type } from 'typebox'
import { closed, data, Timestamp, Uuid } from '../envelope.ts'
import { Document, oneOf } from './shapes.ts'

/**
 * The changes of all assets of a tenant, for the activity service and for lists of assets. The changes of one operation, such as
 * a scan, are listed as one element with a count.
 */

/** The operations whose changes are listed together. `check`: a monitoring. `request`: an API request with several assets. */
export const causeKinds = ['scan', 'import', 'campaign', 'bulk_edit', 'rule', 'check', 'merge', 'request'] as const

export const ChangeCause = closed({
  kind: oneOf(causeKinds),
  id: Uuid,
  name: Type.Optional(Type.String({ description: 'The name of the file, campaign or rule' })),
})
export type ChangeCause = Static<typeof ChangeCause>

export const FieldChange = closed({
  field: Type.String({ description: 'A field such as `firmware`, or `custom_properties/<name>`' }),
  before: Type.Optional(Type.String()),
  after: Type.Optional(Type.String()),
  since: Type.Optional(
    Type.String({
      description:
        'For the begin and the end of an outage, which are changes of `reachability_state`: the time since which the asset did not respond',
    }),
  ),
})
export type FieldChange = Static<typeof FieldChange>

export const assetChangeKinds = ['created', 'updated', 'deleted'] as const

const count = Type.Integer({ minimum: 0 })

export const ChangeGroup = closed({
  count: Type.Unsafe<number>({ ...count, description: 'The number of changes, at most 10,000' }),
  isCapped: Type.Boolean({ description: 'Whether the operation made more changes than were counted' }),
  created: count,
  updated: count,
  deleted: count,
  firstTime: Timestamp,
  names: Type.Array(Type.Union([Type.String(), Type.Null()]), { description: 'The names of the first assets' }),
  fields: Type.Array(closed({ ...FieldChange.properties, count }), {
    description: 'The most frequent changed fields. A value is present if it is the same in all these changes',
  }),
})
export type ChangeGroup = Static<typeof ChangeGroup>

export const changeFields = {
  time: Timestamp,
  change: oneOf(assetChangeKinds),
  principal: Type.Union([Uuid, Type.Null()]),
  principalName: Type.String(),
  source: closed({ type: Type.String(), value: Type.Optional(Type.String()) }),
  changes: Type.Array(FieldChange),
}

const AssetChange = closed({
  assetId: Uuid,
  version: Type.Integer({ minimum: 1 }),
  name: Type.Union([Type.String(), Type.Null()]),
  type: Type.Union([Type.String(), Type.Null()]),
  ...changeFields,
  cause: Type.Optional(ChangeCause),
  group: Type.Optional(ChangeGroup),
})
export type AssetChange = Static<typeof AssetChange>

/** The position of a change in the list: newest first, and changes of the same time by asset and version. */
const ChangePosition = closed({ time: Timestamp, assetId: Uuid, version: Type.Integer({ minimum: 1 }) })
export type ChangePosition = Static<typeof ChangePosition>

/** 2,200 buckets are the hours of 91 days, in which the console counts days if the clocks change in the range. */
export const changeLimits = { page: 500, assets: 100, buckets: 2_200, people: 50 } as const

const selection = {
  from: Timestamp,
  to: Timestamp,
  principal: Type.Optional(Uuid),
  assetId: Type.Optional(Uuid),
  hierarchyNode: Type.Optional(Uuid),
  change: Type.Optional(oneOf(assetChangeKinds)),
  field: Type.Optional(Type.String({ maxLength: 128, description: 'Only changes of this field' })),
  causeId: Type.Optional(Uuid),
}

export const changeOperations = {
  listChanges: {
    method: 'POST',
    path: '/changes',
    summary: 'The changes of readable assets, newest first; the changes of one operation as one element',
    access: 'on-behalf',
    readOnly: true,
    body: data(
      closed({
        ...selection,
        before: Type.Optional(ChangePosition),
        limit: Type.Integer({ minimum: 1, maximum: changeLimits.page }),
        isGrouped: Type.Boolean({ description: 'Whether the changes of one operation are one element' }),
      }),
    ),
    answers: {
      200: closed({
        data: Type.Array(AssetChange),
        meta: closed({
          next: Type.Optional(ChangePosition),
        }),
      }),
    },
    errors: ['node_not_found', 'forbidden'],
  },
  countChanges: {
    method: 'POST',
    path: '/changes/counts',
    summary: 'The number of changes of readable assets per time span',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ ...selection, bucketSeconds: Type.Integer({ minimum: 60 }) })),
    answers: {
      200: data(Type.Array(closed({ time: Timestamp, created: count, updated: count, deleted: count }))),
    },
    errors: ['node_not_found', 'forbidden'],
  },
  listChangeAuthors: {
    method: 'POST',
    path: '/changes/authors',
    summary: 'The principals with the most changes of readable assets in a time range',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ from: Timestamp, to: Timestamp })),
    answers: { 200: data(Type.Array(closed({ id: Uuid, name: Type.String(), count }))) },
  },
  readChange: {
    method: 'GET',
    path: '/changes/{assetId}/{version}',
    summary: 'A change of a readable asset with the complete documents before and after it',
    access: 'on-behalf',
    params: closed({ assetId: Uuid, version: Type.String({ pattern: '^[1-9][0-9]{0,14}$' }) }),
    answers: {
      200: data(
        closed({
          ...AssetChange.properties,
          before: Type.Union([Document, Type.Null()]),
          after: Type.Union([Document, Type.Null()]),
        }),
      ),
    },
    errors: ['not_found'],
  },
  readLastChanges: {
    method: 'POST',
    path: '/assets/last-changes',
    summary: 'Read the last change of each of these assets',
    description: 'Assets that do not exist or that the caller cannot read are left out.',
    access: 'inventory_read_asset_data',
    readOnly: true,
    body: data(closed({ ids: Type.Array(Uuid, { minItems: 1, maxItems: changeLimits.assets }) })),
    answers: { 200: data(Type.Array(closed({ assetId: Uuid, name: AssetChange.properties.name, ...changeFields }))) },
  },
} as const
