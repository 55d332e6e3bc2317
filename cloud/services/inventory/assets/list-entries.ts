import { isDeepStrictEqual } from 'node:util'
import { normaliseMac } from '../identity/identifier.ts'
import { isObject, objectsOf, ordered, type PlainObject, textOf } from './document.ts'

/**
 * Matches the entries of a sent list to the entries of the stored list.
 *
 * Many asset links generate new ids for connection points in each scan. An entry is therefore matched by its type and its
 * natural key (MAC address, IP address, software name). A matched entry keeps the stored id, and references between entries
 * are changed to the stored ids. A sent list that differs from the stored list only in the order of its entries is equal to
 * it.
 */

type Entry = PlainObject

type EntryKind = {
  /** The name of the member that contains the id of an entry. */
  id: string
  type: string
  /**
   * Returns the value that identifies an entry within its type. Returns `undefined` if only the whole content identifies
   * it.
   */
  naturalKey: (entry: Entry) => string | undefined
}

const kinds: Readonly<Record<string, EntryKind>> = {
  connection_points: {
    id: 'id',
    type: 'connection_point_type',
    naturalKey: ({ mac_address: mac, ipv4_address: ipv4, ipv6_address: ipv6 }) => {
      const address = textOf(mac)
      return address === null ? (textOf(ipv4) ?? textOf(ipv6)?.toLowerCase()) : normaliseMac(address)
    },
  },
  software_components: {
    id: 'running_software_id',
    type: 'software_component_type',
    naturalKey: ({ artifact }) => (isObject(artifact) ? softwareName(artifact) : undefined),
  },
}

/**
 * Lists whose entries have no id and whose order has no meaning, with the name of the member that distinguishes their
 * entries.
 */
const entryNames: Readonly<Record<string, string>> = {
  asset_operations: 'operation_name',
  instance_annotations: 'key',
  location: 'location_type',
}

const noIds: ReadonlySet<string> = new Set()

function softwareName(artifact: PlainObject): string | undefined {
  const named = objectsOf(artifact.asset_identifiers).find(({ name }) => textOf(name) !== null)
  return textOf(named?.name) ?? textOf(artifact.name) ?? undefined
}

/**
 * Returns the key of each entry of a list. An entry with the same key in two lists is the same entry if the ids of both lists
 * were matched. Returns `undefined` if the entries of the field have no keys, so that the list is one value.
 */
export function entryKeys(field: string, list: unknown): string[] | undefined {
  if (!isKeyed(field) || !isList(list)) return undefined
  const keys = list.map((entry) => keyOfEntry(field, entry))
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return keys.map((key, index) => ((counts.get(key) ?? 0) > 1 ? `${key} ${fingerprint(list[index])}` : key))
}

function isKeyed(field: string): boolean {
  return Object.hasOwn(kinds, field) || Object.hasOwn(entryNames, field)
}

/**
 * Returns the key of an entry. A connection point has its id in the key, because several ports of a switch can
 * have the same MAC address. The id of a software component is not in the key, because many links send none.
 */
function keyOfEntry(field: string, entry: Entry): string {
  const kind = Object.hasOwn(kinds, field) ? kinds[field] : undefined
  if (kind === undefined) return textOf(entry[entryNames[field] ?? '']) ?? ''
  const natural = kind.naturalKey(entry) ?? fingerprint({ ...entry, [kind.id]: null, related_connection_points: null })
  const id = field === 'connection_points' ? ` ${textOf(entry[kind.id]) ?? ''}` : ''
  return `${textOf(entry[kind.type]) ?? ''} ${natural}${id}`
}

/**
 * Returns the value to store for a field: the `sent` value, in which entries that are already stored have their stored ids.
 * An entry that is not stored yet gets none of the ids in `reserved`.
 */
export function matchEntries(
  field: string,
  stored: unknown,
  sent: unknown,
  reserved: ReadonlySet<string> = noIds,
): unknown {
  const kind = Object.hasOwn(kinds, field) ? kinds[field] : undefined
  if (!isKeyed(field)) return sent
  if (!isList(stored) || !isList(sent) || isDeepStrictEqual(stored, sent)) return sent
  const aligned = kind === undefined ? sent : withStoredIds(kind, { stored, sent, reserved })
  return fingerprint(aligned) === fingerprint(stored) ? stored : aligned
}

function isList(value: unknown): value is Entry[] {
  return Array.isArray(value) && value.every(isObject)
}

type Lists = { stored: readonly Entry[]; sent: readonly Entry[] }

function withStoredIds(
  kind: EntryKind,
  { stored, sent, reserved }: Lists & { reserved: ReadonlySet<string> },
): Entry[] {
  const { id: idName } = kind
  const ids = idsOf(sent, { idName, matches: matched(kind, { stored, sent }), reserved })
  const renamed = new Map<string, string>()
  for (const [index, entry] of sent.entries()) {
    const [before, after] = [textOf(entry[idName]), ids[index]]
    if (before !== null && after !== undefined && !renamed.has(before)) renamed.set(before, after)
  }
  return sent.map((entry, index) => {
    const id = ids[index]
    const own = id === undefined ? entry : { ...entry, [idName]: id }
    const related = own.related_connection_points
    if (!isList(related)) return own
    return { ...own, related_connection_points: related.map((one) => redirected(one, renamed)) }
  })
}

function redirected(reference: Entry, renamed: ReadonlyMap<string, string>): Entry {
  const target = textOf(reference.connection_point_id)
  const newId = target === null ? undefined : renamed.get(target)
  return newId === undefined ? reference : { ...reference, connection_point_id: newId }
}

/**
 * Returns the stored entry for each sent entry, by index. If several entries have the same natural key, the most similar
 * ones are paired.
 */
function matched(kind: EntryKind, { stored, sent }: Lists): (Entry | undefined)[] {
  const [storedKeys, sentKeys] = [matchKeys(kind, stored), matchKeys(kind, sent)]
  const matches = new Array<Entry | undefined>(sent.length)
  const free = new Set(stored.keys())
  for (const level of matchLevels) {
    const byKey = Map.groupBy(free, (index) => storedKeys[index]?.[level])
    for (const index of sent.keys()) {
      const key = sentKeys[index]?.[level]
      if (matches[index] !== undefined || key === undefined) continue
      const candidate = byKey.get(key)?.shift()
      if (candidate === undefined) continue
      free.delete(candidate)
      matches[index] = stored[candidate]
    }
  }
  return matches
}

/** The levels of matching, from the strongest evidence to the weakest. Every key contains the type and the natural key. */
const matchLevels = ['contentAndId', 'content', 'id', 'name', 'natural'] as const
type MatchKeys = Record<(typeof matchLevels)[number], string | undefined>

function matchKeys({ id: idName, type, naturalKey }: EntryKind, entries: readonly Entry[]): MatchKeys[] {
  const contents = entries.map(({ [idName]: _, related_connection_points: __, ...own }) => fingerprint(own))
  const contentById = new Map(entries.map((entry, index) => [textOf(entry[idName]), contents[index]]))
  return entries.map((entry, index) => {
    const id = textOf(entry[idName])
    const name = textOf(entry.name)
    const natural = JSON.stringify([entry[type], naturalKey(entry) ?? contents[index]])
    const references = objectsOf(entry.related_connection_points).map(({ connection_point_id: target, ...own }) => {
      return [contentById.get(textOf(target)) ?? textOf(target), own]
    })
    const content = `${natural} ${contents[index]} ${fingerprint(references)}`
    return {
      contentAndId: id === null ? undefined : `${content} ${id}`,
      content,
      id: id === null ? undefined : `${natural} ${id}`,
      name: name === null ? undefined : `${natural} ${name}`,
      natural,
    }
  })
}

type IdOptions = { idName: string; matches: readonly (Entry | undefined)[]; reserved: ReadonlySet<string> }

/**
 * Returns the id of each sent entry: the id of the stored entry that it matches, or else its own id. If that own id is
 * reserved, or a matched entry already has it, the entry gets a new id.
 */
function idsOf(sent: readonly Entry[], { idName, matches, reserved }: IdOptions): (string | undefined)[] {
  const matchedIds = new Set([...matches.map((match) => textOf(match?.[idName])), ...reserved])
  const usedIds = new Set([...matchedIds, ...sent.map((entry) => textOf(entry[idName]))])
  return sent.map((entry, index) => {
    const matchedId = textOf(matches[index]?.[idName])
    const own = textOf(entry[idName])
    if (matchedId !== null || own === null || !matchedIds.has(own)) return matchedId ?? own ?? undefined
    const start = own.slice(0, replacedIdCharacters)
    let number = 2
    while (usedIds.has(`${start}-${number}`)) number += 1
    usedIds.add(`${start}-${number}`)
    return `${start}-${number}`
  })
}

/**
 * A replaced id starts with this many characters of the original id. The limit leaves room in the field for the number that
 * is appended.
 */
const replacedIdCharacters = 64

/** Returns a text that is equal for two values if they differ only in the order of list entries or members. */
function fingerprint(value: unknown): string {
  return JSON.stringify(ordered(sorted(value)))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fingerprint).sort()
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, sorted(member)]))
}
