import { LruMap } from 'toad-cache'
import { storableText } from '../../../platform/database/json.ts'
import { cutToBytes, isObject, objectsOf, type PlainObject } from '../assets/document.ts'
import { type Identifier, nameOf, valueTextOf } from '../identity/identifier.ts'

/**
 * Search tokens: how the text of an asset is split for the full-text index, and how a search text is split for the query.
 *
 * Text is split at blanks into chunks, and a chunk into words of letters and digits. A token is a word with the two words
 * that follow it in its chunk, including the characters between them. The index finds tokens by their beginning.
 */

/** How much text of an asset is indexed. */
export const searchBytes = 8 * 1024

const limits = { tokensPerAsset: 1_000, wordsPerToken: 3, tokenLength: 48 } as const

/** Fields that are not indexed: their text is the same for many assets, or users do not search for it. */
const notIndexed = new Set([
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
  // The keys are ids; the values are indexed separately.
  'custom_properties',
])

/** The fields that users search for most come first, so that they are not cut off. */
const firstFields = ['product_instance_information', 'description', 'instance_annotations']

/** The indexed text of an asset in lower case, each distinct value on its own line. */
export function searchText(document: PlainObject, identifiers: readonly Identifier[]): string {
  const pieces: string[] = []
  if (typeof document.name === 'string') pieces.push(document.name)
  for (const identifier of identifiers) pieces.push(nameOf(identifier) ?? '', valueTextOf(identifier))
  for (const { value } of objectsOf(document.custom_properties)) collect('value', value, pieces)
  for (const name of firstFields) collect(name, document[name], pieces)
  for (const name of Object.keys(document)) if (!firstFields.includes(name)) collect(name, document[name], pieces)
  const lines = new Set(pieces.map((piece) => storableText(piece).trim().toLowerCase()))
  lines.delete('')
  return cutToBytes([...lines].join('\n'), searchBytes)
}

function collect(name: string, value: unknown, into: string[]): void {
  if (notIndexed.has(name)) return
  if (typeof value === 'string') into.push(value)
  else if (Array.isArray(value)) for (const entry of value) collect(name, entry, into)
  else if (isObject(value)) for (const inner of Object.keys(value)) collect(inner, value[inner], into)
}

const blanks = /\s+/u
/** Letters and digits without other characters between them. In scripts without blanks each character begins a word. */
const anyWord = /[\p{L}\p{N}](?:(?!\p{Ideographic})[\p{L}\p{M}\p{N}])*/gu
/** The same for ASCII text, which is the most frequent case and several times as fast. */
const asciiWord = /[a-z0-9]+/g
const isAscii = /^[\0-\x7f]*$/

/**
 * The tokens of an indexed text. `02:1b:00:7f`, for example, is found by `02:1b`, by `1b:00:7f` and by `7f`, each with one
 * index look-up. Names with the same structure share most of their tokens.
 */
export function tokensIn(text: string): Set<string> {
  const tokens = new Set<string>()
  for (const line of text.split('\n')) {
    for (const token of tokensOfLine(line)) if (tokens.size < limits.tokensPerAsset) tokens.add(token)
  }
  return tokens
}

/** Caches the tokens of recent lines: the assets of a plant share most of their lines. */
const cacheLimits = { lines: 4_000, lineLength: 100 } as const
const tokenCache = new LruMap<readonly string[]>(cacheLimits.lines)

function tokensOfLine(line: string): readonly string[] {
  const cached = tokenCache.get(line)
  if (cached !== undefined) return cached
  const tokens = line.split(blanks).flatMap(tokensOfChunk)
  if (line.length <= cacheLimits.lineLength) tokenCache.set(line, tokens)
  return tokens
}

/**
 * The tokens of a search text: an asset matches if one of its tokens begins with each of them. A chunk of more than three
 * words gives every three consecutive words.
 */
export function queryTokens(text: string): string[] {
  const unique = new Set<string>()
  for (const chunk of storableText(text).toLowerCase().split(blanks)) {
    const tokens = tokensOfChunk(chunk)
    for (const token of tokens.slice(0, Math.max(1, tokens.length - limits.wordsPerToken + 1))) unique.add(token)
  }
  return [...unique]
}

/** Whether few assets are expected to have the token. A long one with digits is most likely a serial number or an address. */
export function isRare(token: string): boolean {
  return token.length >= 6 && /\d/.test(token)
}

/** One token for each word of the chunk. */
function tokensOfChunk(chunk: string): string[] {
  const words = [...chunk.matchAll(isAscii.test(chunk) ? asciiWord : anyWord)]
  return words.map(({ index: start }, position) => {
    const last = words[Math.min(position + limits.wordsPerToken, words.length) - 1]
    const end = last === undefined ? chunk.length : last.index + last[0].length
    return shortened(chunk.slice(start, end))
  })
}

function shortened(token: string): string {
  return token.length <= limits.tokenLength ? token : [...token].slice(0, limits.tokenLength).join('')
}
