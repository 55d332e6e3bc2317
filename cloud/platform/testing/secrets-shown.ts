/**
 * Patterns of secrets, which must not appear anywhere: client secrets, tokens, refresh tokens, and all passwords of the
 * tests, which contain this word.
 */
export const plantedWord = 'planted-secret'

const patterns = [
  /mws_[\w-]{16,}/,
  /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+/,
  new RegExp(plantedWord),
  /\$argon2id\$/,
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
]

/** Returns the first secret in a text, with some of the text around it. */
export function secretIn(text: string): string | undefined {
  for (const pattern of patterns) {
    const match = pattern.exec(text)
    if (match !== null) return text.slice(Math.max(0, match.index - 60), match.index + 20)
  }
  return undefined
}
