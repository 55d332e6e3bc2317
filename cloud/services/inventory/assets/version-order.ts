/**
 * `versionSortKey` turns a version such as `V2.10.1-rc2` into a text whose byte order (`collate "C"`) is the order of
 * versions: 1.9 comes before 1.10, and 1.0-rc1 before 1.0. The key is stored in a column next to the version, so that an
 * index sorts and pages by it.
 *
 * A version is split into numbers and words; other ASCII characters only separate them. Case does not matter, and neither
 * does a leading `v`, `ver` or `version`. In the same position a pre-release word comes first, then the end of the version,
 * then any other word, then a number. The first characters of the parts of a key are chosen for this order.
 *
 * Migration `0013-firmware-order.sql` computes the same keys in SQL for assets that were stored before. A test compares
 * both. So a change of the order needs a new migration.
 */
export function versionSortKey(version: string): string {
  const lowerCase = version.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const parts = lowerCase.match(partPattern) ?? []
  const isPrefixed = parts.length > 1 && prefixes.has(parts[0] ?? '') && isNumber(parts[1] ?? '')
  const key = (isPrefixed ? parts.slice(1) : parts).map(partKey).join('') + lead.end
  return key.length <= maxCharacters ? key : [...key].slice(0, maxCharacters).join('')
}

/** An index entry can use a third of a page at most. Versions that differ only after so many characters sort as equal. */
const maxCharacters = 256

/** Digits, or characters that are neither digits nor ASCII separators. */
const partPattern = /[0-9]+|[^\0-`{-\x7f]+/g

const prefixes = new Set(['v', 'ver', 'version'])
const preReleases = new Set(['alpha', 'beta', 'dev', 'nightly', 'pre', 'preview', 'rc', 'snapshot'])

const lead = { preRelease: '!', end: '#', word: '$' } as const

/** Longer numbers are preceded by their number of digits in decimal. */
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
