/** JSON.stringify escapes lone surrogates and NUL, which the database refuses in `jsonb`; other escapes are kept. */
const escapes = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g

/** A value as text for a `jsonb` parameter. What no database can keep becomes the replacement character. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(escapes, (sequence) => (sequence.length === 6 ? '\ufffd' : sequence))
}

/** The same for a `text` parameter. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
