import { type Static, Type } from 'typebox'
import { closed, data, Timestamp, Uuid } from '../envelope.ts'
import { filterText, inventoryLimits, oneOf } from './shapes.ts'

/** Operations with which the update hub reads the products and versions of devices, and how devices are connected. */

const text = Type.Optional(Type.String())
const predicates = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 16 })

const InventoryDevice = closed({
  id: Uuid,
  accessGroupId: Uuid,
  name: text,
  manufacturer: text,
  productId: text,
  productName: text,
  hardwareVersion: text,
  firmwareVersion: text,
  software: Type.Optional(
    Type.Array(closed({ name: Type.String(), version: Type.String() }), {
      description: 'The software components that are not firmware',
    }),
  ),
})
export type InventoryDevice = Static<typeof InventoryDevice>

const ProductVersionCount = closed({
  manufacturer: Type.String(),
  productId: text,
  productName: text,
  firmwareVersion: text,
  devices: Type.Integer(),
})

export const deviceOperations = {
  selectDevices: {
    method: 'POST',
    path: '/devices/selection',
    summary:
      'The product and the version of readable assets, selected by a filter or by their ids, in order of their ids',
    access: 'on-behalf',
    readOnly: true,
    bodyBytes: inventoryLimits.batchBytes,
    body: data(
      closed({
        filter: Type.Optional(filterText),
        ids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.devices })),
        after: Type.Optional(
          Type.Unsafe<string>({
            ...Uuid,
            description: 'Only assets with a higher id, to read the next page of a filter',
          }),
        ),
        withSoftware: Type.Optional(Type.Boolean({ default: false })),
      }),
    ),
    answers: {
      200: data(
        closed({
          devices: Type.Array(InventoryDevice),
          isTruncated: Type.Boolean({ description: `More than ${inventoryLimits.devices} assets match` }),
        }),
      ),
    },
    errors: ['invalid_filter', 'unknown_property'],
  },
  readConnections: {
    method: 'POST',
    path: '/devices/connections',
    summary: 'The relations that connect assets with other assets, directly and through other assets',
    access: 'peer',
    readOnly: true,
    bodyBytes: inventoryLimits.batchBytes,
    body: data(
      closed({
        ids: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.devices }),
        outgoing: predicates,
        incoming: predicates,
      }),
    ),
    answers: {
      200: data(
        closed({
          relations: Type.Array(closed({ subject: Uuid, predicate: Type.String(), object: Uuid })),
          gateways: Type.Array(Uuid, {
            description: 'Those of the assets that are gateways, or machines on which gateways run',
          }),
          unexplored: Type.Array(Uuid, {
            description: 'Assets whose relations were not read, because there are more than the limits allow',
          }),
        }),
      ),
    },
  },
  readDevicePlaces: {
    method: 'POST',
    path: '/devices/places',
    summary: 'The identifiers of assets, and the addresses that their devices reported; deleted assets are left out',
    access: 'peer',
    readOnly: true,
    body: data(closed({ ids: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.batch }) })),
    answers: {
      200: data(
        Type.Array(
          closed({
            id: Uuid,
            identifiers: Type.Array(Type.Record(Type.String(), Type.Unknown())),
            addresses: Type.Array(Type.String()),
          }),
        ),
      ),
    },
  },
  recordReachability: {
    method: 'POST',
    path: '/devices/reachability',
    summary:
      'Record the reachability states that a check found, in the name of a user; an unchanged state only gets a new time',
    access: 'on-behalf',
    body: data(
      closed({
        states: Type.Array(closed({ assetId: Uuid, state: oneOf(['reached', 'failed'] as const) }), {
          minItems: 1,
          maxItems: inventoryLimits.batch,
        }),
        checkedAt: Timestamp,
      }),
    ),
    answers: {
      202: data(
        closed({
          statusId: Type.Optional(
            Type.Unsafe<string>({ ...Uuid, description: 'The status of the changes. Absent without a change' }),
          ),
        }),
      ),
    },
    errors: ['overloaded'],
  },
  countProductVersions: {
    method: 'GET',
    path: '/devices/versions',
    summary: 'The number of readable assets with each manufacturer, product and firmware version',
    access: 'on-behalf',
    answers: {
      200: data(Type.Array(ProductVersionCount, { description: `At most ${inventoryLimits.productVersions}` })),
    },
  },
  countFoundVersions: {
    method: 'GET',
    path: '/devices/versions/found',
    summary:
      'The number of readable assets that an asset link has found, with each manufacturer, product and firmware version',
    access: 'on-behalf',
    answers: {
      200: data(Type.Array(ProductVersionCount, { description: `At most ${inventoryLimits.productVersions}` })),
    },
  },
} as const
