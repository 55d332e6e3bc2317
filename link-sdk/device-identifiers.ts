import { fromBinary } from '@bufbuild/protobuf'
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import {
  type DeviceIdentifier,
  DeviceIdentifierValueListSchema,
} from '@millwright/api/proto/generated/identifiers_pb.js'
import { type Field, fieldBelow, fieldsOfClass, tags } from './device-field.ts'
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

/**
 * An asset as it travels: a list of values, each with the path of its field in a URI. Objects dissolve into their fields;
 * of an array each element is a container of its own, with the path of the array. What is empty is left out, and true and
 * false are texts, because the wire has no word for them.
 *
 * Written without the generated messages, which cost more than all the rest of a link that finds many devices.
 */
export function writeIdentifiers(writer: BinaryWriter, asset: Asset): BinaryWriter {
  const type = typeof asset.functional_object_type === 'string' ? asset.functional_object_type : 'Asset'
  const schema = asset.functional_object_schema_url
  const folder = (typeof schema === 'string' ? schema : baseSchemaUrl).replace(/\/[^/]*\.json$/, '')
  writeFields(writer, asset, fieldsOfClass(`${folder}/${type}#`))
  return writer
}

/** The same as messages. */
export function identifiersOf(asset: Asset): DeviceIdentifier[] {
  return fromBinary(DeviceIdentifierValueListSchema, writeIdentifiers(new BinaryWriter(), asset).finish()).value
}

function writeFields(writer: BinaryWriter, fields: Asset, of: Field): void {
  for (const [name, value] of Object.entries(fields))
    if (saysSomething(value)) write(writer, value, fieldBelow(of, name))
}

/** What is empty is not sent, and neither is what holds nothing else. */
function saysSomething(value: AssetValue): boolean {
  if (typeof value === 'string') return value.trim() !== ''
  if (isArray(value)) return value.some(saysSomething)
  if (isFields(value)) return Object.values(value).some(saysSomething)
  return value !== null && value !== undefined
}

function write(writer: BinaryWriter, value: AssetValue, field: Field): void {
  if (isArray(value)) for (const element of value) writeElement(writer, element, field)
  else if (isFields(value)) writeFields(writer, value, field)
  else writeScalar(writer, value, field)
}

function writeElement(writer: BinaryWriter, element: AssetValue, field: Field): void {
  if (isArray(element)) {
    throw new LinkError('INTERNAL', `${field.uri} is an array of arrays, which the wire does not know.`)
  }
  if (!saysSomething(element)) return
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
