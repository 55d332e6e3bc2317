/** JSON.stringify escapes lone surrogates and NUL, which the database refuses in `jsonb`, and in `json` when it looks into it; other escapes are kept. */
const escapes = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g

/** Whether there may be any: most texts have none, and are large. */
const unstorable = /\\u(?:0000|d[89a-f])/

/** A value as text for a `json` or `jsonb` parameter. What no database can keep becomes the replacement character. */
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
