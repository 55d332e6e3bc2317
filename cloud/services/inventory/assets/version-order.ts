/**
 * `versionSortKey` turns a version such as `V2.10.1-rc2` into a text whose byte order (`collate "C"`) is the order of
 * versions: 1.9 comes before 1.10, and 1.0-rc1 before 1.0. The key is stored in a column next to the version, so that an
 * index can sort and page by it.
 *
 * A version is split into numbers and words. Other ASCII characters only separate them. Letter case and a leading `v`,
 * `ver` or `version` are ignored. At the same position, a pre-release word comes first, then the end of the version, then
 * any other word, then a number. Each part of a key starts with a character that gives this order.
 *
 * Migration `0013-firmware-order.sql` computes the same keys in SQL for assets that were stored before. A test compares
 * both. A change of the order therefore needs a new migration.
 */
export function versionSortKey(version: string): string {
  const lowerCase = version.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const parts = lowerCase.match(partPattern) ?? []
  const isPrefixed = parts.length > 1 && prefixes.has(parts[0] ?? '') && isNumber(parts[1] ?? '')
  const key = (isPrefixed ? parts.slice(1) : parts).map(partKey).join('') + lead.end
  return key.length <= maxCharacters ? key : [...key].slice(0, maxCharacters).join('')
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
  const digits = part.replace(/^0+/, '')
  if (digits.length <= shortDigits) return String.fromCharCode(48 + digits.length) + digits
  return longLead + String(digits.length).padStart(6, '0') + digits
}

function isNumber(part: string): boolean {
  return part >= '0' && part < ':'
}
