import { Type } from 'typebox'
import { closed, data, Uuid } from '../envelope.ts'
import { inventoryLimits } from './shapes.ts'

/** Operations with which other services query the assets that their caller can read. */

export const visibilityOperations = {
  listReadableGateways: {
    method: 'GET',
    path: '/visibility/gateways',
    summary: 'List the readable gateways',
    access: 'on-behalf',
    answers: { 200: data(Type.Array(Uuid)) },
  },
  describeGateways: {
    method: 'POST',
    path: '/visibility/gateways',
    summary: 'The name and the access group that gateways have now; deleted ones are left out',
    access: 'peer',
    readOnly: true,
    body: data(closed({ ids: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.classified }) })),
    answers: {
      200: data(Type.Array(closed({ id: Uuid, name: Type.Union([Type.String(), Type.Null()]), accessGroupId: Uuid }))),
    },
  },
  describeAssets: {
    method: 'POST',
    path: '/visibility/descriptions',
    summary: 'The access group of assets, the last one of deleted assets, and whether an asset is a gateway or a link',
    access: 'peer',
    readOnly: true,
    body: data(closed({ ids: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.classified }) })),
    answers: {
      200: data(
        Type.Array(
          closed({
            id: Uuid,
            accessGroupId: Uuid,
            isDeleted: Type.Boolean(),
            isGatewayOrLink: Type.Boolean({ description: 'False for deleted assets' }),
          }),
        ),
      ),
    },
  },
  classifyAssets: {
    method: 'POST',
    path: '/visibility/assets',
    summary: 'Find the readable and hidden assets among these ids; deleted assets by their last access group',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ ids: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.classified }) })),
    answers: {
      200: data(
        closed({
          readable: Type.Array(Uuid),
          hidden: Type.Array(Uuid, {
            description: 'Assets that the caller cannot read. Ids of other objects are in neither list',
          }),
        }),
      ),
    },
  },
  filterAssets: {
    method: 'POST',
    path: '/visibility/filter',
    summary: 'Find the readable assets among these ids that match a filter; without ids, the filter is only checked',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ ids: Type.Array(Uuid, { maxItems: inventoryLimits.classified }), filter: Type.String() })),
    answers: { 200: data(Type.Array(Uuid)) },
    errors: ['invalid_filter', 'unknown_property'],
  },
} as const
