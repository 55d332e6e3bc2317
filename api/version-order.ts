/**
 * The order of versions. Versions of devices follow no common scheme: `V2.8.3`, `20.11`, `3.51`, `1.0 SP1` and `1.0.0-rc1` all
 * occur. A version is split into numbers and words. Other ASCII characters only separate them. Letter case and a leading
 * `v`, `ver` or `version` are ignored, and so are zeros at the end of a row of numbers: 2.8 and 2.8.0 are equal. At the same
 * position, a pre-release word comes first, then the end of the version, then any other word, then a number. So 1.9 comes
 * before 1.10, and 1.0-rc1 before 1.0.
 */

/** Returns a negative number if the first version is older, a positive number if it is newer, and 0 if both are equal. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [versionParts(one), versionParts(other)]
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = compareParts(left[index], right[index])
    if (difference !== 0) return difference
  }
  return 0
}

/**
 * Returns a text whose byte order (`collate "C"`) is the order of versions. The key is stored in a column next to the version,
 * so that an index can sort and page by it. Each part of a key starts with a character that gives the order.
 *
 * The migration `0017-version-zeros.sql` of the inventory computes the same keys in SQL for assets that were stored before. A
 * test compares both. A change of the order therefore needs a new migration.
 */
export function versionSortKey(version: string): string {
  const key = versionParts(version).map(partKey).join('') + lead.end
  return key.length <= maxCharacters ? key : [...key].slice(0, maxCharacters).join('')
}

/** Returns the numbers and words of a version that are compared, in lower case. Numbers have no leading zeros; 0 is ''. */
export function versionParts(version: string): string[] {
  const lowerCase = version.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const parts = (lowerCase.match(partPattern) ?? []).map((part) => (isNumber(part) ? part.replace(/^0+/, '') : part))
  if (parts.length > 1 && prefixes.has(parts[0] ?? '') && isNumber(parts[1] ?? '')) parts.shift()
  return withoutLastZeros(parts)
}

/** Removes the zeros at the end of each row of numbers. A word ends a row. */
function withoutLastZeros(parts: readonly string[]): string[] {
  const kept: string[] = []
  for (const part of parts.toReversed()) {
    const next = kept.at(-1)
    if (part !== '' || (next !== undefined && isNumber(next))) kept.push(part)
  }
  return kept.reverse()
}

function compareParts(one: string | undefined, other: string | undefined): number {
  const rank = rankOf(one) - rankOf(other)
  if (rank !== 0 || one === undefined || other === undefined) return rank
  if (isNumber(one) && one.length !== other.length) return one.length - other.length
  return compareCodePoints(one, other)
}

function rankOf(part: string | undefined): number {
  if (part === undefined) return 1
  if (isNumber(part)) return 3
  return preReleases.has(part) ? 0 : 2
}

/** Compares two texts by code point, which is also the order of their UTF-8 bytes. */
function compareCodePoints(one: string, other: string): number {
  if (one === other) return 0
  const [left, right] = [[...one], [...other]]
  const index = left.findIndex((character, place) => character !== right[place])
  if (index === -1) return -1
  return (left[index]?.codePointAt(0) ?? 0) - (right[index]?.codePointAt(0) ?? -1)
}

/**
 * The maximum length of a key. An index entry can use at most a third of a page. Versions that differ only after this
 * length sort as equal.
 */
const maxCharacters = 256

/** Matches the parts of a version: digits, or characters that are neither digits nor ASCII separators. */
const partPattern = /[0-9]+|[^\0-`{-\x7f]+/g

const prefixes = new Set(['v', 'ver', 'version'])
const preReleases = new Set(['alpha', 'beta', 'dev', 'nightly', 'pre', 'preview', 'rc', 'snapshot'])

const lead = { preRelease: '!', end: '#', word: '$' } as const

/**
 * The maximum number of digits of a number whose length is encoded as one character. The key of a longer number
 * contains its length as text.
 */
const shortDigits = 30
const longLead = String.fromCharCode(48 + shortDigits + 1)

function partKey(part: string): string {
  if (!isNumber(part)) return (preReleases.has(part) ? lead.preRelease : lead.word) + part
  if (part.length <= shortDigits) return String.fromCharCode(48 + part.length) + part
  return longLead + String(part.length).padStart(6, '0') + part
}

/** Returns whether a part is a number. The empty part is the number 0. */
export function isNumber(part: string): boolean {
  return part === '' || (part >= '0' && part < ':')
}
