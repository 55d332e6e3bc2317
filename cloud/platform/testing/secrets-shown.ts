/**
 * A word that all passwords of the tests contain, so that a password in any output is found. Client secrets and tokens
 * are found by their format.
 */
export const plantedWord = 'planted-secret'

const patterns = [
  /mws_[\w-]{16,}/,
  /whsec_[\w+/=]{16,}/,
  /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+/,
  new RegExp(plantedWord),
  /\$argon2id\$/,
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
]

/** Returns the first secret in a text, together with some of the text around it. Returns undefined if there is none. */
export function secretIn(text: string): string | undefined {
  for (const pattern of patterns) {
    const match = pattern.exec(text)
    if (match !== null) return text.slice(Math.max(0, match.index - 60), match.index + 20)
  }
  return undefined
}
