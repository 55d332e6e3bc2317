import { textsIn } from '../../assets/model/asset.ts'

/** `Difference` is a field whose value differs between two versions of a document. */

export type Difference = { field: string; before: unknown; after: unknown }

/** The fields that change with every write. They are left out of the comparison. */
const ignoredFields = new Set(['last_modified_timestamp', 'state_timestamp'])

export function differencesOf(before: unknown, after: unknown): Difference[] {
  return differencesBetween(keyed(before), keyed(after), '')
}

/**
 * Returns the differences between two values. If an object was added or removed, each of its fields is a difference.
 */
function differencesBetween(before: unknown, after: unknown, field: string): Difference[] {
  if (isEqual(before, after)) return []
  const [one, other] = [before ?? emptyLike(after), after ?? emptyLike(before)]
  if (!isBranch(one) || !isBranch(other) || Array.isArray(one) !== Array.isArray(other)) {
    return [{ field, before, after }]
  }
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => !ignoredFields.has(name))
  return names.flatMap((name) => differencesBetween(one[name], other[name], field === '' ? name : `${field}/${name}`))
}

function emptyLike(value: unknown): unknown {
  return Array.isArray(value) ? [] : isBranch(value) ? {} : undefined
}

/**
 * Returns the document with its custom properties as an object, because they must be compared by key and not by their
 * index in the list.
 */
function keyed(document: unknown): unknown {
  if (!isBranch(document) || !Array.isArray(document.custom_properties)) return document
  const values = document.custom_properties.filter(isBranch).map(({ key, value }) => [key, value])
  return { ...document, custom_properties: Object.fromEntries(values) }
}

type Branch = Record<string, unknown>

function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null
}

function isEqual(one: unknown, other: unknown): boolean {
  if (!isBranch(one) || !isBranch(other)) return one === other || (one ?? null) === (other ?? null)
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => !ignoredFields.has(name))
  return Array.isArray(one) === Array.isArray(other) && names.every((name) => isEqual(one[name], other[name]))
}

/** Returns a value as text. An absent value is shown as a dash, and an object as a summary or as JSON. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return '–'
  return isBranch(value) ? summaryOf(value) || JSON.stringify(value) : String(value)
}

/** Returns the main texts of a manufacturer, a connection point, a software component, an annotation or a location. */
function summaryOf(value: Branch): string {
  const { key, name, value: text, artifact } = value
  if (isBranch(artifact)) return [artifact.name, ...textsIn(artifact, 'asset_identifiers', 'version')].join(' ')
  if (key !== undefined && text !== undefined) return `${key}: ${text}`
  const addresses = ['mac_address', 'ipv4_address', 'ipv6_address', 'location_identifier'].map((field) => value[field])
  return [...addresses, name].filter((part) => typeof part === 'string' && part !== '').join(' · ')
}

/**
 * Returns a readable text for a path: `connection_points/0/ipv4_address` becomes `connection points › 1 › ipv4
 * address`.
 */
export function fieldPathText(path: string): string {
  const words = path
    .split('/')
    .map((name) => (/^\d+$/.test(name) ? String(Number(name) + 1) : name.replaceAll('_', ' ')))
  return words.join(' › ')
}
