import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { isBase64 } from './base64.ts'
import { linkDataTypes } from './gatekeeper.ts'
import { NullValue, type Variant, VariantSchema, VariantType } from './proto/generated/variant_pb.js'

/** Conversion between values of the asset link protocol (`Variant`) and JSON. */

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

/** A value of a variant: a JSON value, or a value of a type that JSON does not have. */
export type VariantValue =
  | JsonValue
  | bigint
  | Date
  | Uint8Array
  | VariantFile
  | readonly VariantValue[]
  | { readonly [key: string]: VariantValue | undefined }

/** `VariantFile` is a file as the value of a variant. */
export class VariantFile {
  readonly data: Uint8Array
  readonly contentType: string
  readonly fileName: string

  constructor(file: { data: Uint8Array; contentType: string; fileName?: string }) {
    this.data = file.data
    this.contentType = file.contentType
    this.fileName = file.fileName ?? ''
  }
}

/** Returns the name that the API uses for a type. */
export function dataTypeOf(type: VariantType): (typeof linkDataTypes)[number] {
  return linkDataTypes[type] ?? 'unspecified'
}

export function variantTypeOf(dataType: (typeof linkDataTypes)[number]): VariantType {
  return linkDataTypes.indexOf(dataType)
}

/**
 * Converts a value to a variant. Integers become int64, and other numbers become double. `undefined` members of a structure
 * are left out.
 */
export function variantOf(value: VariantValue): Variant {
  return create(VariantSchema, { value: caseOf(value) })
}

const wholeNumber = { least: -(2n ** 63n), most: 2n ** 63n - 1n, unsigned: 2n ** 64n - 1n } as const

function caseOf(value: VariantValue): NonNullable<MessageInitShape<typeof VariantSchema>['value']> {
  if (value === null) return { case: 'nullValue', value: NullValue.NULL_VALUE }
  if (typeof value === 'boolean') return { case: 'boolValue', value }
  if (typeof value === 'string') return { case: 'text', value }
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) && !Object.is(value, -0)
      ? { case: 'int64Value', value: BigInt(value) }
      : { case: 'float64Value', value }
  }
  if (typeof value === 'bigint') {
    return value > wholeNumber.most ? { case: 'uint64Value', value } : { case: 'int64Value', value }
  }
  if (value instanceof Date) return { case: 'text', value: value.toISOString() }
  if (value instanceof Uint8Array) return { case: 'rawData', value }
  if (value instanceof VariantFile) return { case: 'file', value }
  if (isArray(value)) return { case: 'arrayValue', value: { values: value.map(variantOf) } }
  const fields = Object.entries(value).filter((entry): entry is [string, VariantValue] => entry[1] !== undefined)
  return { case: 'structValue', value: { fields: Object.fromEntries(fields.map(([k, v]) => [k, variantOf(v)])) } }
}

function isArray(value: object): value is readonly VariantValue[] {
  return Array.isArray(value)
}

/**
 * Converts a variant to JSON. Returns `undefined` if the variant is empty. An integer that JSON would round becomes text,
 * bytes become base64, and a file becomes an object with `content_type`, `file_name` and base64 `data`.
 */
export function jsonOf({ value }: Variant): JsonValue | undefined {
  switch (value.case) {
    case undefined:
      return undefined
    case 'nullValue':
      return null
    case 'int64Value':
    case 'uint64Value':
      return exactNumber(value.value)
    case 'float64Value':
      return Number.isFinite(value.value) ? value.value : String(value.value)
    case 'rawData':
      return base64(value.value)
    case 'file': {
      const { data, contentType, fileName } = value.value
      return { content_type: contentType, file_name: fileName, data: base64(data) }
    }
    case 'structValue':
      return Object.fromEntries(Object.entries(value.value.fields).map(([key, field]) => [key, jsonOf(field) ?? null]))
    case 'arrayValue':
      return value.value.values.map((element) => jsonOf(element) ?? null)
    default:
      return value.value
  }
}

/** Converts a 64-bit integer to JSON: to a number if the number is exact, otherwise to its digits as text. */
export function exactNumber(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/**
 * Converts a value from a user to the exact type that a link declares, because links refuse other types. Bytes must be
 * base64. Returns `undefined` if the value does not fit the type.
 */
export function variantOfType(type: VariantType, input: JsonValue): Variant | undefined {
  const value = typedCase(type, input)
  return value === undefined ? undefined : create(VariantSchema, { value })
}

function typedCase(type: VariantType, input: JsonValue): MessageInitShape<typeof VariantSchema>['value'] | undefined {
  switch (type) {
    case VariantType.VT_BOOL:
      if (input === true || input === 'true') return { case: 'boolValue', value: true }
      return input === false || input === 'false' ? { case: 'boolValue', value: false } : undefined
    case VariantType.VT_INT64: {
      const value = wholeNumberFrom(input)
      const fits = value !== undefined && value >= wholeNumber.least && value <= wholeNumber.most
      return fits ? { case: 'int64Value', value } : undefined
    }
    case VariantType.VT_UINT64: {
      const value = wholeNumberFrom(input)
      const fits = value !== undefined && value >= 0n && value <= wholeNumber.unsigned
      return fits ? { case: 'uint64Value', value } : undefined
    }
    case VariantType.VT_DOUBLE: {
      const value = typeof input === 'string' && input.trim() !== '' ? Number(input) : input
      return typeof value === 'number' && !Number.isNaN(value) ? { case: 'float64Value', value } : undefined
    }
    case VariantType.VT_STRING:
      return isScalar(input) ? { case: 'text', value: String(input) } : undefined
    case VariantType.VT_BYTES:
      return typeof input === 'string' && isBase64(input)
        ? { case: 'rawData', value: new Uint8Array(Buffer.from(input, 'base64')) }
        : undefined
    case VariantType.VT_STRUCT:
    case VariantType.VT_ARRAY:
      return structured(type, input)
    case VariantType.VT_NULL:
      return { case: 'nullValue', value: NullValue.NULL_VALUE }
    case VariantType.VT_FILE:
      return undefined
    default:
      return caseOf(input)
  }
}

function isScalar(input: JsonValue): input is string | number | boolean {
  return typeof input === 'string' || typeof input === 'number' || typeof input === 'boolean'
}

function wholeNumberFrom(input: JsonValue): bigint | undefined {
  if (typeof input === 'number') return Number.isSafeInteger(input) ? BigInt(input) : undefined
  return typeof input === 'string' && /^\s*-?\d{1,20}\s*$/.test(input) ? BigInt(input.trim()) : undefined
}

/** Converts a structure or an array. The input can also be the JSON text of the structure or array. */
function structured(type: VariantType, input: JsonValue): MessageInitShape<typeof VariantSchema>['value'] | undefined {
  const value = typeof input === 'string' ? parsed(input) : input
  if (typeof value !== 'object' || value === null) return undefined
  return Array.isArray(value) === (type === VariantType.VT_ARRAY) ? caseOf(value) : undefined
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
