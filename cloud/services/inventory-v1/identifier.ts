import { type Document, isObject, type PlainObject, textOf } from '../../platform/plain-object.ts'

/** Conversion of identifiers between version 1 and version 2 of the API. */

export type Identifier = PlainObject

const namesInV1: Readonly<Record<string, string>> = {
  IdLinkIdentifier: 'IdLink',
  CertificateIdentifier: 'GatewayIdentifier',
  ProductInstanceIdentifier: 'ProductSerialIdentifier',
}

const namesFromV1: Readonly<Record<string, string>> = {
  IdLink: 'IdLinkIdentifier',
  SiemensIdLink: 'IdLinkIdentifier',
  GatewayIdentifier: 'CertificateIdentifier',
}

/**
 * The identifier types of version 1 that do not exist in version 2, each with the name of the custom identifier that
 * replaces it.
 */
const valuesFromV1: Readonly<Record<string, string>> = {
  Ipv4Identifier: 'ipv4_address',
  Ipv6Identifier: 'ipv6_address',
  ArtifactChecksum: 'checksum',
}

export function identifierToV1(identifier: PlainObject): Document {
  const type = String(identifier.asset_identifier_type)
  if (type === 'CustomIdentifier') return customToV1(identifier)
  const named = { ...identifier, asset_identifier_type: namesInV1[type] ?? type }
  if (type !== 'ProductInstanceIdentifier') return named
  const { vendor, article_number: article, ...rest } = named as PlainObject
  return { ...rest, manufacturer_product: { product_id: article, manufacturer: { name: vendor } } }
}

function customToV1(identifier: PlainObject): Document {
  const { name, value, ...rest } = identifier
  const [type] = Object.entries(valuesFromV1).find(([, field]) => field === name) ?? []
  return type === undefined ? { ...identifier } : { ...rest, asset_identifier_type: type, [String(name)]: value }
}

/**
 * Removes identifiers with equal members. The inventory later normalises all identifiers and finds further duplicates.
 */
export function unitedIdentifiers(identifiers: readonly Identifier[]): Identifier[] {
  const byText = new Map(identifiers.map((one) => [textOfMembers(one), one]))
  return [...byText.values()]
}

function textOfMembers(identifier: Identifier): string {
  return JSON.stringify(Object.entries(identifier).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Converts an identifier of version 1. The result is empty if the identifier has no identifying value. */
export function identifierFromV1(identifier: PlainObject): Document[] {
  const type = String(identifier.asset_identifier_type)
  if (type === 'AssetIdentifier') return []
  const field = valuesFromV1[type]
  if (field !== undefined) {
    const { [field]: value, ...rest } = identifier
    return textOf(value) === null ? [] : [{ ...rest, asset_identifier_type: 'CustomIdentifier', name: field, value }]
  }
  if (type === 'ProductSerialIdentifier') return serialFromV1(identifier)
  return [{ ...identifier, asset_identifier_type: namesFromV1[type] ?? type }]
}

function serialFromV1({ manufacturer_product: product, ...rest }: PlainObject): Document[] {
  const { product_id: article, manufacturer } = isObject(product) ? product : {}
  const vendor = isObject(manufacturer) ? textOf(manufacturer.name) : null
  if (!textOf(rest.serial_number)) return []
  const type = 'ProductInstanceIdentifier'
  return [{ ...rest, asset_identifier_type: type, vendor: vendor ?? '', article_number: textOf(article) ?? '' }]
}
