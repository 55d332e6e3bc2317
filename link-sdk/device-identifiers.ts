import { fromBinary } from '@bufbuild/protobuf'
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import {
  type DeviceIdentifier,
  DeviceIdentifierValueListSchema,
} from '@millwright/api/proto/generated/identifiers_pb.js'
import { type Field, fieldBelow, fieldsOfClass, tags } from './device-field.ts'
import { LinkError } from './link-error.ts'

/** `AssetValue` is a value of an asset: a JSON value, a 64-bit integer, a time or bytes. */
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

/**
 * `Asset` is an asset that follows the asset schema. Examples of its fields are `name`, `asset_identifiers` and
 * `product_instance_information`.
 */
export type Asset = { readonly [field: string]: AssetValue }

/**
 * Encodes an asset as a list of values, each with the URI of its field. Fields of objects become separate values. Each
 * element of an array becomes a container with the URI of the array. Empty values are left out. Booleans are sent as text,
 * because the protocol has no boolean type.
 *
 * The function does not use the generated messages, because they would take most of the time of a scan with many devices.
 */
export function writeIdentifiers(writer: BinaryWriter, asset: Asset): BinaryWriter {
  const type = typeof asset.functional_object_type === 'string' ? asset.functional_object_type : 'Asset'
  const schema = asset.functional_object_schema_url
  const folder = (typeof schema === 'string' ? schema : baseSchemaUrl).replace(/\/[^/]*\.json$/, '')
  writeFields(writer, asset, fieldsOfClass(`${folder}/${type}#`))
  return writer
}

/** Returns the identifiers of an asset as generated messages. */
export function identifiersOf(asset: Asset): DeviceIdentifier[] {
  return fromBinary(DeviceIdentifierValueListSchema, writeIdentifiers(new BinaryWriter(), asset).finish()).value
}

function writeFields(writer: BinaryWriter, fields: Asset, of: Field): void {
  for (const [name, value] of Object.entries(fields)) if (hasContent(value)) write(writer, value, fieldBelow(of, name))
}

/** Returns true when a value is not empty. An array or object that contains only empty values is empty too. */
function hasContent(value: AssetValue): boolean {
  if (typeof value === 'string') return value.trim() !== ''
  if (isArray(value)) return value.some(hasContent)
  if (isFields(value)) return Object.values(value).some(hasContent)
  return value !== null && value !== undefined
}

function write(writer: BinaryWriter, value: AssetValue, field: Field): void {
  if (isArray(value)) for (const element of value) writeElement(writer, element, field)
  else if (isFields(value)) writeFields(writer, value, field)
  else writeScalar(writer, value, field)
}

function writeElement(writer: BinaryWriter, element: AssetValue, field: Field): void {
  if (isArray(element)) {
    throw new LinkError('INTERNAL', `${field.uri} is an array of arrays, which the protocol does not support.`)
  }
  if (!hasContent(element)) return
  if (!isFields(element)) {
    writeScalar(writer, element, field)
    return
  }
  writer.uint32(tags.identifier).fork().raw(field.classifier).uint32(tags.children).fork()
  writeFields(writer, element, field)
  writer.join().join()
}

function writeScalar(writer: BinaryWriter, value: AssetValue, { classifier }: Field): void {
  writer.uint32(tags.identifier).fork().raw(classifier)
  writeValue(writer, value)
  writer.join()
}

function writeValue(writer: BinaryWriter, value: AssetValue): void {
  if (typeof value === 'string') writer.uint32(tags.text).string(value)
  else if (typeof value === 'boolean') writer.uint32(tags.text).string(String(value))
  else if (typeof value === 'bigint' && value >= 0n) writer.uint32(tags.uint64).uint64(value)
  else if (typeof value === 'bigint') writer.uint32(tags.int64).int64(value)
  else if (value instanceof Date) writer.uint32(tags.text).string(value.toISOString())
  else if (value instanceof Uint8Array) writer.uint32(tags.raw).bytes(value)
  else if (Number.isSafeInteger(value)) writer.uint32(tags.int64).int64(value as number)
  else if (typeof value === 'number') writer.uint32(tags.float64).double(value)
}

function isArray(value: AssetValue): value is readonly AssetValue[] {
  return Array.isArray(value)
}

function isFields(value: AssetValue): value is Asset {
  return typeof value === 'object' && value !== null && !(value instanceof Date) && !(value instanceof Uint8Array)
}
