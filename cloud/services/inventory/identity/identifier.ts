import { createHash } from 'node:crypto'
import { platformIdentifiers } from '@millwright/api/inventory/identity.ts'
import { storableText } from '../../../platform/database/json.ts'
import { cutToBytes, isObject, mapMembers } from '../assets/document.ts'
import type { StoredIdentifier } from '../writes/write.ts'

/** An identifier of an asset as a client sends it. It belongs to one of the identifier classes of the schema. */
export type Identifier = { readonly [field: string]: unknown }

type IdentifierType = {
  /**
   * How uncertain this type of identifier is. If several identifiers match, the one with the lowest uncertainty decides.
   */
  readonly uncertainty: number
  /** The fields that identify an asset, in their order in the key. */
  readonly parts: readonly string[]
  readonly name?: (identifier: Identifier) => string
  readonly value: (identifier: Identifier) => string
}

const field = (name: string) => (identifier: Identifier) => printed(identifier[name])

export const identifierTypes: Readonly<Record<string, IdentifierType>> = {
  IdLinkIdentifier: { uncertainty: 1000, parts: ['id_link'], value: field('id_link') },
  ProductInstanceIdentifier: {
    uncertainty: 1001,
    parts: ['vendor', 'article_number', 'serial_number'],
    name: (identifier) => `${printed(identifier.vendor)} ${printed(identifier.article_number)}`.trim(),
    value: field('serial_number'),
  },
  MacIdentifier: { uncertainty: 1002, parts: ['mac_address'], value: field('mac_address') },
  SoftwareIdentifier: {
    uncertainty: 1004,
    parts: ['name', 'version'],
    name: field('name'),
    value: field('version'),
  },
  CertificateIdentifier: { uncertainty: 1005, parts: ['certificate_id'], value: field('certificate_id') },
  CustomIdentifier: { uncertainty: 1006, parts: ['name', 'value'], name: field('name'), value: field('value') },
  HostBasedSoftwareIdentifier: {
    uncertainty: 1007,
    parts: ['host_identifier', 'name', 'version', 'instance_identifier'],
    name: field('name'),
    value: field('version'),
  },
  ParentRelativeIdentifier: {
    uncertainty: 1100,
    parts: ['parent_identifier', 'slot', 'subslot'],
    value: ({ parent_identifier: parent, slot, subslot }) =>
      `${isObject(parent) ? valueTextOf(parent) : ''}/${printed(slot)}/${printed(subslot)}`,
  },
}

/** The uncertainty of an identifier of an unknown type. It is higher than the uncertainty of every known type. */
const unknownUncertainty = 2000

/** The maximum length of a key. A longer key is replaced by its hash, because the key is part of a primary key. */
const keyCharacters = 200

/** The maximum length of a value in bytes. Longer values do not fit into an index entry. */
const valueBytes = 2000

/** Returns the identifier in its normalised form, without fields that are null. */
export function normalise(identifier: Identifier): Identifier {
  return mapMembers(identifier, (value, name) => (value === null ? undefined : normalisedField(name, value)))
}

function normalisedField(name: string, value: unknown): unknown {
  if (name === 'parent_identifier' && isObject(value)) return normalise(value)
  // Adding 0 turns -0 into 0, because JSON does not store the sign of zero.
  if (typeof value === 'number') return value + 0
  if (typeof value !== 'string') return value
  const text = storableText(value).trim()
  if (name === 'mac_address') return normaliseMac(text)
  if (name === 'id_link') return normaliseLink(text)
  return text
}

/** Matches a MAC address in its normalised form. */
const normalMac = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/

export function normaliseMac(address: string): string {
  if (normalMac.test(address)) return address
  const digits = address.toLowerCase().replace(/[^0-9a-f]/g, '')
  return digits.length === 12 ? (digits.match(/../g) ?? []).join(':') : address.toLowerCase()
}

/**
 * Normalises scheme and host, which are case-insensitive. Path and query are case-sensitive and stay unchanged (IEC 61406).
 */
function normaliseLink(link: string): string {
  const [origin = ''] = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(link) ?? []
  return origin.toLowerCase() + link.slice(origin.length)
}

/**
 * Returns the key of an identifier. Only equal identifiers have equal keys. Uncertainty and annotations are not part of the
 * key.
 */
export function keyOf(identifier: Identifier): string {
  return keyOfNormal(normalise(identifier))
}

function keyOfNormal(identifier: Identifier): string {
  const text = JSON.stringify(partsOf(identifier))
  return text.length <= keyCharacters ? text : `sha256:${createHash('sha256').update(text).digest('hex')}`
}

function partsOf(identifier: Identifier): unknown[] {
  const type = typeOf(identifier)
  const definition = identifierTypes[type]
  if (definition === undefined) return [type, ...unknownParts(identifier)]
  return [type, ...definition.parts.map((name) => partOf(identifier[name]))]
}

function partOf(value: unknown): unknown {
  return isObject(value) ? partsOf(value) : (value ?? null)
}

const annotations = ['asset_identifier_type', 'identifier_type', 'identifier_uncertainty']

function unknownParts(identifier: Identifier): unknown[] {
  return Object.entries(identifier)
    .filter(([name]) => !annotations.includes(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, partOf(value)])
}

export function typeOf(identifier: Identifier): string {
  return printed(identifier.asset_identifier_type)
}

export function uncertaintyOf(identifier: Identifier): number {
  const { identifier_uncertainty: own } = identifier
  if (typeof own === 'number' && Number.isInteger(own)) return own
  return identifierTypes[typeOf(identifier)]?.uncertainty ?? unknownUncertainty
}

export function nameOf(identifier: Identifier): string | null {
  return identifierTypes[typeOf(identifier)]?.name?.(identifier) ?? null
}

/**
 * Returns the value that users search for, cut to the length of an index entry. The key, not this value, decides about
 * identity.
 */
export function valueTextOf(identifier: Identifier): string {
  const definition = identifierTypes[typeOf(identifier)]
  return cutToBytes(
    definition === undefined ? JSON.stringify(unknownParts(identifier)) : definition.value(identifier),
    valueBytes,
  )
}

function printed(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
}

/** Returns the stored form of a normalised identifier. */
export function storedIdentifier(normal: Identifier): StoredIdentifier {
  return {
    key: keyOfNormal(normal),
    uncertainty: uncertaintyOf(normal),
    type: typeOf(normal),
    name: nameOf(normal),
    value: valueTextOf(normal),
    identifier: normal,
  }
}

const reservedNames: ReadonlySet<unknown> = new Set(Object.values(platformIdentifiers))

/**
 * Returns whether only the platform may assign this identifier, because it belongs to the asset of a gateway or of an asset
 * link.
 */
export function isReservedIdentifier({ asset_identifier_type: type, name }: Identifier): boolean {
  return type === 'CustomIdentifier' && reservedNames.has(name)
}

/** An identifier that both the written asset and a stored asset have. */
export type Claim = { key: string; uncertainty: number; assetId: string; createdAt: string }

export type Identity = {
  /** The stored asset to which the write applies. It is absent when the written asset is new. */
  match?: string
  /** The keys of the identifiers that matched, those with the lowest uncertainty first. */
  matchedBy: string[]
  /** Other assets that have some of the sent identifiers, best match first. */
  conflicts: { assetId: string; by: string[] }[]
}

/**
 * Decides to which stored asset a write applies. The identifier with the lowest uncertainty decides. If several assets
 * match with the same uncertainty, the asset with the most matching identifiers is chosen, then the oldest asset.
 */
export function choose(claims: readonly Claim[]): Identity {
  const byAsset = Map.groupBy(distinct(claims), ({ assetId }) => assetId)
  const [match, ...others] = [...byAsset.values()].toSorted(likelierFirst).map((own) => ({
    assetId: own[0]?.assetId ?? '',
    by: own.map(({ key }) => key),
  }))
  if (match === undefined) return { matchedBy: [], conflicts: [] }
  return { match: match.assetId, matchedBy: match.by, conflicts: others }
}

/** Returns the claims with each key once, those with the lowest uncertainty first. */
function distinct(claims: readonly Claim[]): Claim[] {
  const sorted = claims.toSorted((a, b) => a.uncertainty - b.uncertainty || compare(a.key, b.key))
  const seen = new Set<string>()
  return sorted.filter(({ key }) => !seen.has(key) && seen.add(key))
}

function likelierFirst(a: readonly Claim[], b: readonly Claim[]): number {
  const [one, other] = [a[0], b[0]]
  if (one === undefined || other === undefined) return 0
  return (
    one.uncertainty - other.uncertainty ||
    b.length - a.length ||
    compare(one.createdAt, other.createdAt) ||
    compare(one.assetId, other.assetId)
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
