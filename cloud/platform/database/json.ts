/**
 * Matches escapes in JSON text. `JSON.stringify` writes lone surrogates and NUL as escapes. The database refuses these
 * escapes in `jsonb`, and also in `json` when it parses the text. All other escapes stay unchanged.
 */
const escapes = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g

/**
 * Tests quickly whether a text contains an escape that the database refuses. The replacement is slower, and most texts
 * need none.
 */
const unstorable = /\\u(?:0000|d[89a-f])/
const unicodeEscape = '\\u'

/**
 * Prints a value as a `json` or `jsonb` parameter. Characters that the database cannot store become the replacement
 * character.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value)
  // Almost no text has a Unicode escape. Searching a substring is faster than matching the pattern.
  if (!text.includes(unicodeEscape) || !unstorable.test(text)) return text
  return text.replace(escapes, (sequence) => (sequence.length === 6 ? '\ufffd' : sequence))
}

/** Returns text for a `text` parameter. Characters that the database cannot store become the replacement character. */
export function storableText(text: string): string {
  if (text.isWellFormed() && !text.includes('\0')) return text
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
