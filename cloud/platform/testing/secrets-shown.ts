/**
 * What a secret of ours looks like, wherever it might turn up by mistake: client secrets, tokens, refresh tokens, and
 * every password that the tests use, which all contain this word.
 */
export const plantedWord = 'planted-secret'

const patterns = [
  /mws_[\w-]{16,}/,
  /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+/,
  new RegExp(plantedWord),
  /\$argon2id\$/,
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
]

/** The first place in a text where a secret shows, with a little of what is around it. */
export function secretIn(text: string): string | undefined {
  for (const pattern of patterns) {
    const match = pattern.exec(text)
    if (match !== null) return text.slice(Math.max(0, match.index - 60), match.index + 20)
  }
  return undefined
}
