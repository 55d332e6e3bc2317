/**
 * `JSON.stringify` writes lone surrogates and NUL as escapes. The database refuses these in `jsonb`, and in `json` when
 * it parses the text. Other escapes stay.
 */
const escapes = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g

/** A quick test: most texts are large and have no such escape. */
const unstorable = /\\u(?:0000|d[89a-f])/

/**
 * Prints a value as a `json` or `jsonb` parameter. Characters that the database cannot store become the replacement
 * character.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value)
  if (!unstorable.test(text)) return text
  return text.replace(escapes, (sequence) => (sequence.length === 6 ? '\ufffd' : sequence))
}

/** The same for a `text` parameter. */
export function storableText(text: string): string {
  if (text.isWellFormed() && !text.includes('\0')) return text
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
