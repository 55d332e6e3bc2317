const mostCharacters = 256

/**
 * Returns a text of a server without control characters and surrounding spaces. Returns undefined if nothing is left, or
 * if the value is not a text. Long texts are cut, because a server can send any length.
 */
export function cleanText(value: unknown, most = mostCharacters): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = value
    .slice(0, 4 * most)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\uFFFD]+/gu, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed()
    .trim()
  return text === '' ? undefined : text
}
