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

/**
 * Returns the indexed text of an asset: its distinct values in lower case, one per line, cut to `searchBytes` bytes in
 * total.
 */
export function searchLines(document: PlainObject, identifiers: readonly Identifier[]): string[] {
  const pieces: string[] = []
  if (typeof document.name === 'string') pieces.push(document.name)
  for (const identifier of identifiers) pieces.push(nameOf(identifier) ?? '', valueTextOf(identifier))
  for (const { value } of objectsOf(document.custom_properties)) collect('value', value, pieces)
  for (const name of firstFields) collect(name, document[name], pieces)
  for (const name of Object.keys(document)) if (!firstFields.includes(name)) collect(name, document[name], pieces)
  const lines = new Set<string>()
  let length = 0
  for (const piece of pieces) {
    const line = storableText(piece).trim().toLowerCase()
    lines.add(line)
    length += line.length + 1
  }
  lines.delete('')
  // One UTF-16 code unit needs at most three bytes in UTF-8. Few assets have so much text that it must be measured.
  return length * 3 <= searchBytes ? [...lines] : cutToBytes([...lines].join('\n'), searchBytes).split('\n')
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
 * Returns the tokens of an indexed text in ascending order. For example, the searches `02:1b`, `1b:00:7f` and `7f` all find
 * `02:1b:00:7f`, each with one index look-up. A token that is the beginning of another token of the asset is left out,
 * because every search that finds it also finds the longer token.
 */
export function tokensIn(lines: readonly string[]): string[] {
  const tokens: string[] = []
  for (const line of lines) {
    for (const token of tokensOfLine(line)) if (tokens.length < limits.tokensPerAsset) insertToken(tokens, token)
  }
  return tokens
}

/**
 * Inserts a token into a sorted list, unless a token of the list begins with it. Replaces the token of the list with which
 * the new token begins. An asset has few tokens, so this is faster than sorting all of them at the end.
 */
function insertToken(sorted: string[], token: string): void {
  let start = 0
  let end = sorted.length
  while (start < end) {
    const middle = (start + end) >>> 1
    if ((sorted[middle] ?? '') < token) start = middle + 1
    else end = middle
  }
  // In this order, the tokens that begin with a token follow it directly.
  if (sorted[start]?.startsWith(token)) return
  const before = start === 0 ? undefined : sorted[start - 1]
  if (before !== undefined && token.startsWith(before)) {
    sorted[start - 1] = token
    return
  }
  for (let index = sorted.length; index > start; index--) sorted[index] = sorted[index - 1] ?? ''
  sorted[start] = token
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
  const tokens = tokensOf(line)
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
    const tokens = tokensOf(chunk)
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

/** Returns one token for each word of a text in lower case. */
function tokensOf(text: string): string[] {
  return asciiTokens(text) ?? text.split(blanks).flatMap(tokensOfChunk)
}

function tokensOfChunk(chunk: string): string[] {
  const words = [...chunk.matchAll(anyWord)]
  return words.map(({ index: start }, position) => {
    const last = words[Math.min(position + limits.wordsPerToken, words.length) - 1]
    const end = last === undefined ? chunk.length : last.index + last[0].length
    return shortened(chunk.slice(start, end))
  })
}

const code = {
  firstDigit: 48,
  lastDigit: 57,
  firstLetter: 97,
  lastLetter: 122,
  space: 32,
  tab: 9,
  return: 13,
  last: 127,
} as const

/**
 * Returns the tokens of an ASCII text, or `undefined` for other text. Most texts are ASCII, and this loop is several times
 * as fast as the patterns.
 */
function asciiTokens(text: string): string[] | undefined {
  const tokens: string[] = []
  let starts: number[] = []
  let ends: number[] = []
  let isInWord = false
  for (let index = 0; index <= text.length; index++) {
    // The end of the text ends a chunk, as a blank does.
    const unit = index < text.length ? text.charCodeAt(index) : code.space
    if (unit > code.last) return undefined
    const isWord =
      (unit >= code.firstLetter && unit <= code.lastLetter) || (unit >= code.firstDigit && unit <= code.lastDigit)
    if (isWord !== isInWord) (isWord ? starts : ends).push(index)
    isInWord = isWord
    const isBlank = unit === code.space || (unit >= code.tab && unit <= code.return)
    if (!isBlank || starts.length === 0) continue
    for (let position = 0; position < starts.length; position++) {
      const start = starts[position] ?? 0
      const last = Math.min(position + limits.wordsPerToken, ends.length) - 1
      tokens.push(text.slice(start, Math.min(ends[last] ?? index, start + limits.tokenLength)))
    }
    starts = []
    ends = []
  }
  return tokens
}

function shortened(token: string): string {
  return token.length <= limits.tokenLength ? token : [...token].slice(0, limits.tokenLength).join('')
}
