import { type TSchema, Type } from 'typebox'
import { contract, empty, media } from './contract.ts'
import { inventory } from './inventory/inventory.ts'
import { type AssetDocument, byId, Document } from './inventory/shapes.ts'
import type { ProblemCode } from './problem.ts'

const text = Type.Unsafe<string | null>({ type: ['string', 'null'] })
const object = (properties: Record<string, TSchema> = {}) =>
  Type.Unsafe<AssetDocument | null>({ type: ['object', 'null'], properties })
const objects = (properties: Record<string, TSchema> = {}, required: readonly string[] = []) =>
  Type.Unsafe<AssetDocument[] | null>({ type: ['array', 'null'], items: { type: 'object', properties, required } })

const state = object({ state_value: text })
const related = object({ id: text })

/**
 * The fields that have another representation in version 2. Their types are checked, because values of other types would be
 * lost in the conversion.
 */
const toldOtherwise = {
  '@type': text,
  functional_object_type: text,
  functional_object_schema_url: text,
  asset_identifiers: objects(),
  mac_identifiers: objects(),
  software_identifier: object(),
  checksum_identifier: object(),
  gateway_identifier: object(),
  product_instance_identifier: object({ manufacturer_product: object({ manufacturer: object() }) }),
  mounting_location: object(),
  location: objects(),
  connection_points: objects({ related_connection_points: objects() }),
  software_components: objects({ artifact: object() }),
  custom_ui_properties: objects(
    { key: Type.String(), value: Type.Unsafe<unknown>({ type: ['string', 'number', 'boolean'] }) },
    ['key', 'value'],
  ),
  management_state: state,
  reachability_state: state,
  trust_established_state: state,
  responsible: text,
  gateway: related,
  parent: related,
}

/** An asset of version 1. It is validated after the conversion to version 2. */
const AssetOfV1 = Type.Unsafe<AssetDocument>({
  type: 'object',
  properties: toldOtherwise,
  additionalProperties: true,
  minProperties: 1,
  propertyNames: { pattern: '^(?!data$)', description: 'fields of an asset, without the data envelope' },
})

const refusedWrites = [
  'invalid_asset',
  'schema_not_found',
  'access_group_not_found',
  'property_not_found',
  'asset_not_found',
  'identity_taken',
  'ambiguous_identity',
] as const satisfies readonly ProblemCode[]

export const inventoryV1 = contract({
  name: 'inventory-v1',
  title: 'Inventory, version 1',
  description:
    'Assets for clients of version 1: documents without an envelope, in one list, changed by merge patch. Identifiers are added and never removed. `gateway` is read-only and set by discoveries.',
  version: '1.0.0',
  prefix: '/inventory/v1-earlyaccess',
  succeededBy: { prefix: inventory.prefix, deprecatedOn: '2026-11-01', sunsetOn: '2028-12-31' },
  operations: {
    listAssets: {
      method: 'GET',
      path: '/assets',
      summary: 'List all readable assets',
      access: 'inventory_read_asset_data',
      answers: { 200: media('application/json') },
    },
    readAsset: {
      method: 'GET',
      path: '/assets/{id}',
      summary: 'Read an asset',
      access: 'inventory_read_asset_data',
      params: byId,
      tagged: true,
      answers: { 200: Document },
      errors: ['not_found'],
    },
    createAsset: {
      method: 'POST',
      path: '/assets',
      summary: 'Create an asset, or update the asset with these identifiers',
      access: 'inventory_write_asset_data',
      waits: true,
      body: AssetOfV1,
      headers: ['if-match'],
      answers: { 201: Document, 200: Document },
      errors: ['precondition_failed', ...refusedWrites],
    },
    updateAsset: {
      method: 'PATCH',
      path: '/assets/{id}',
      summary: 'Change an asset with a merge patch (RFC 7396)',
      access: 'inventory_write_asset_data',
      params: byId,
      body: AssetOfV1,
      bodyType: 'application/merge-patch+json',
      headers: ['if-match'],
      answers: { 200: Document },
      errors: ['not_found', 'precondition_failed', 'system_managed_predicate', ...refusedWrites],
    },
    deleteAsset: {
      method: 'DELETE',
      path: '/assets/{id}',
      summary: 'Delete an asset and all its relations',
      access: 'inventory_write_asset_data',
      params: byId,
      headers: ['if-match'],
      answers: { 204: empty },
      errors: ['not_found', 'precondition_failed'],
    },
  },
})
