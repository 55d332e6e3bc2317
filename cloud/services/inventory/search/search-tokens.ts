import { LruMap } from 'toad-cache'
import { storableText } from '../../../platform/database/json.ts'
import { cutToBytes, isObject, objectsOf, type PlainObject } from '../assets/document.ts'
import { type Identifier, nameOf, valueTextOf } from '../identity/identifier.ts'

/**
 * Search tokens: how the text of an asset is split for the full-text index, and how a search text is split for the query.
 *
 * Text is split at blanks into chunks. A chunk is split into words of letters and digits. A token consists of a word and
 * the two words that follow it in its chunk, including the characters between them. The index finds tokens by their
 * beginning.
 */

/** The number of bytes of an asset's text that are indexed. */
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
  // The keys of this field are ids. The values are indexed separately.
  'custom_properties',
])

/** The fields that are indexed first. Users search for them most, so they must not be cut off. */
const firstFields = ['product_instance_information', 'description', 'instance_annotations']

/** Returns the indexed text of an asset in lower case, with each distinct value on its own line. */
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
/**
 * Matches a word: consecutive letters and digits. In scripts that do not separate words by blanks, each character begins a
 * word.
 */
const anyWord = /[\p{L}\p{N}](?:(?!\p{Ideographic})[\p{L}\p{M}\p{N}])*/gu
/**
 * Matches a word in ASCII text. ASCII text is the most frequent case, and this pattern is several times as fast as
 * `anyWord`.
 */
const asciiWord = /[a-z0-9]+/g
const isAscii = /^[\0-\x7f]*$/

/**
 * Returns the tokens of an indexed text. For example, the searches `02:1b`, `1b:00:7f` and `7f` all find `02:1b:00:7f`,
 * each with one index look-up.
 */
export function tokensIn(text: string): Set<string> {
  const tokens = new Set<string>()
  for (const line of text.split('\n')) {
    for (const token of tokensOfLine(line)) if (tokens.size < limits.tokensPerAsset) tokens.add(token)
  }
  return tokens
}

/**
 * The limits of the cache for the tokens of recent lines. The cache is useful because the assets of a plant share most of
 * their lines.
 */
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
 * Returns the tokens of a search text. An asset matches if each of these tokens is the beginning of one of the asset's
 * tokens. A chunk of more than three words gives a token for every three consecutive words.
 */
export function queryTokens(text: string): string[] {
  const unique = new Set<string>()
  for (const chunk of storableText(text).toLowerCase().split(blanks)) {
    const tokens = tokensOfChunk(chunk)
    for (const token of tokens.slice(0, Math.max(1, tokens.length - limits.wordsPerToken + 1))) unique.add(token)
  }
  return [...unique]
}

/**
 * Returns whether few assets are expected to have the token. A long token with digits is most likely a serial number or an
 * address.
 */
export function isRare(token: string): boolean {
  return token.length >= 6 && /\d/.test(token)
}

/** Returns one token for each word of the chunk. */
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
