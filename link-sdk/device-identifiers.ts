import type { MessageInitShape } from '@bufbuild/protobuf'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { DeviceIdentifierSchema } from '@millwright/api/proto/generated/identifiers_pb.js'
import { LinkError } from './link-error.ts'

/** A value of an asset: what JSON has, and whole numbers of 64 bits, times and bytes. */
export type AssetValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | Date
  | Uint8Array
  | readonly AssetValue[]
  | { readonly [field: string]: AssetValue }

/** An asset as the schema of assets describes it: `name`, `asset_identifiers`, `product_instance_information` … */
export type Asset = { readonly [field: string]: AssetValue }

export type Identifier = MessageInitShape<typeof DeviceIdentifierSchema>

/**
 * An asset as it travels: a list of values, each with the path of its field in a URI. Objects dissolve into their fields;
 * of an array each element is a container of its own, with the path of the array. What is empty is left out, and true and
 * false are texts, because the wire has no word for them.
 */
export function identifiersOf(asset: Asset): Identifier[] {
  const type = typeof asset.functional_object_type === 'string' ? asset.functional_object_type : 'Asset'
  const schema = asset.functional_object_schema_url
  const folder = (typeof schema === 'string' ? schema : baseSchemaUrl).replace(/\/[^/]*\.json$/, '')
  return fieldsOf(asset, `${folder}/${type}#`)
}

function fieldsOf(fields: Asset, prefix: string): Identifier[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (/[/[\]#%]/.test(name)) throw new LinkError('INTERNAL', `A field must not be called "${name}".`)
    return identifiersAt(`${prefix}${name}`, value)
  })
}

function identifiersAt(uri: string, value: AssetValue): Identifier[] {
  if (isArray(value)) return value.flatMap((element) => elementAt(uri, element))
  if (isFields(value)) return fieldsOf(value, `${uri}/`)
  return scalarAt(uri, value)
}

function elementAt(uri: string, element: AssetValue): Identifier[] {
  if (isArray(element)) throw new LinkError('INTERNAL', `${uri} is an array of arrays, which the wire does not know.`)
  if (!isFields(element)) return scalarAt(uri, element)
  const children = fieldsOf(element, `${uri}/`)
  return children.length === 0
    ? []
    : [{ classifiers: at(uri), value: { case: 'children', value: { value: children } } }]
}

function scalarAt(uri: string, value: AssetValue): Identifier[] {
  const scalar = scalarOf(value)
  return scalar === undefined ? [] : [{ classifiers: at(uri), value: scalar }]
}

function scalarOf(value: AssetValue): Identifier['value'] | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'string') return value.trim() === '' ? undefined : { case: 'text', value }
  if (typeof value === 'boolean') return { case: 'text', value: String(value) }
  if (typeof value === 'bigint') return value < 0n ? { case: 'int64Value', value } : { case: 'uint64Value', value }
  if (value instanceof Date) return { case: 'text', value: value.toISOString() }
  if (value instanceof Uint8Array) return { case: 'rawData', value }
  if (typeof value !== 'number') return undefined
  return Number.isSafeInteger(value) ? { case: 'int64Value', value: BigInt(value) } : { case: 'float64Value', value }
}

function at(uri: string) {
  return [{ type: 'URI', value: uri }]
}

function isArray(value: AssetValue): value is readonly AssetValue[] {
  return Array.isArray(value)
}

function isFields(value: AssetValue): value is Asset {
  return typeof value === 'object' && value !== null && !(value instanceof Date) && !(value instanceof Uint8Array)
}
