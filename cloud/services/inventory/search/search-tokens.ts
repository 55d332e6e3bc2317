import { LruMap } from 'toad-cache'
import { storableText } from '../../../platform/database/json.ts'
import { cutToBytes, isObject, objectsOf, type PlainObject } from '../assets/document.ts'
import { type Identifier, nameOf, valueTextOf } from '../identity/identifier.ts'

/** How much text of an asset is looked at. */
export const searchBytes = 8 * 1024

/** How many words of it, how many of them together, and how many characters of these. */
const most = { words: 1_000, together: 3, length: 48 } as const

/** Text that is the same for many assets, or that nobody types. */
const silent = new Set([
  'functional_object_schema_url',
  'software_component_type',
  'connection_point_type',
  'asset_identifier_type',
  'location_type',
  'created_timestamp',
  'last_modified_timestamp',
  'management_state',
  'reachability_state',
  'trust_state',
  // Their keys are ids, which nobody types; their values are taken by themselves.
  'custom_properties',
])

/** What is looked for most comes first, so that it is never what is cut. */
const first = ['product_instance_information', 'description', 'instance_annotations']

/** All the text of an asset, lower-case, each piece once, a line each. */
export function searchText(document: PlainObject, identifiers: readonly Identifier[]): string {
  const pieces: string[] = []
  if (typeof document.name === 'string') pieces.push(document.name)
  for (const identifier of identifiers) pieces.push(nameOf(identifier) ?? '', valueTextOf(identifier))
  for (const { value } of objectsOf(document.custom_properties)) collect('value', value, pieces)
  for (const name of first) collect(name, document[name], pieces)
  for (const name of Object.keys(document)) if (!first.includes(name)) collect(name, document[name], pieces)
  const lines = new Set(pieces.map((piece) => storableText(piece).trim().toLowerCase()))
  lines.delete('')
  return cutToBytes([...lines].join('\n'), searchBytes)
}

function collect(name: string, value: unknown, into: string[]): void {
  if (silent.has(name)) return
  if (typeof value === 'string') into.push(value)
  else if (Array.isArray(value)) for (const entry of value) collect(name, entry, into)
  else if (isObject(value)) for (const inner of Object.keys(value)) collect(inner, value[inner], into)
}

const blanks = /\s+/u
/** Letters and digits without anything between them; in scripts without blanks, each character begins one. */
const anyWord = /[\p{L}\p{N}](?:(?!\p{Ideographic})[\p{L}\p{M}\p{N}])*/gu
/** The same where there is nothing else, which is most often so, and several times as fast. */
const plainWord = /[a-z0-9]+/g
const isPlain = /^[\0-\x7f]*$/

/**
 * Everything that a text can be found by: each word with the two that follow it up to the next blank. So `02:1b:00:7f` is
 * found by `02:1b`, by `1b:00:7f` and by `7f`, each with one look into an index, and names that are built alike share
 * most of what they are found by.
 */
export function wordsIn(text: string): Set<string> {
  const words = new Set<string>()
  for (const line of text.split('\n')) {
    for (const word of wordsOfLine(line)) if (words.size < most.words) words.add(word)
  }
  return words
}

/** Most assets of a plant share most of their lines: the words of those that came lately are at hand. */
const mostLately = { lines: 4_000, length: 100 } as const
const lately = new LruMap<readonly string[]>(mostLately.lines)

function wordsOfLine(line: string): readonly string[] {
  const known = lately.get(line)
  if (known !== undefined) return known
  const words = line.split(blanks).flatMap(runsOf)
  if (line.length <= mostLately.length) lately.set(line, words)
  return words
}

/**
 * What somebody looks for: each must be the beginning of something that the asset is found by. Of many words without a
 * blank between them, that is each three that follow each other.
 */
export function wordsLookedFor(text: string): string[] {
  const wanted = new Set<string>()
  for (const chunk of storableText(text).toLowerCase().split(blanks)) {
    const runs = runsOf(chunk)
    for (const run of runs.slice(0, Math.max(1, runs.length - most.together + 1))) wanted.add(run)
  }
  return [...wanted]
}

/** Numbers tell things apart, so that few have the same; words and beginnings of them may be those of all. */
export function isRare(word: string): boolean {
  return word.length >= 6 && /\d/.test(word)
}

/** From each beginning of a word, up to the end of the last that belongs together with it. */
function runsOf(chunk: string): string[] {
  const words = [...chunk.matchAll(isPlain.test(chunk) ? plainWord : anyWord)]
  return words.map(({ index: start }, place) => {
    const last = words[Math.min(place + most.together, words.length) - 1]
    const end = last === undefined ? chunk.length : last.index + last[0].length
    return shortened(chunk.slice(start, end))
  })
}

function shortened(word: string): string {
  return word.length <= most.length ? word : [...word].slice(0, most.length).join('')
}
