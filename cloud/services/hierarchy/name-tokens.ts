import { storableText } from '../../platform/database/json.ts'
import type { Lexemes } from '../../platform/database/rowset.ts'
import { allLexemes } from '../../platform/database/text-search.ts'

/**
 * The tokens of the names of nodes. They find the names that contain a text with an index.
 *
 * A name has one token for each of its characters: the character and the two characters after it, in lower case. The last
 * two tokens are shorter. A name that contains a text of three or more characters has all tokens of three characters of
 * the text. A name that contains a shorter text has a token that begins with the text.
 */

const tokenLength = 3

/**
 * Returns the prefix of all tokens of a hierarchy, so that an index look-up does not read the entries of other hierarchies.
 * Two hierarchies may have the same prefix, so each query also filters by hierarchy.
 */
function prefixOf(hierarchyId: string): string {
  return hierarchyId.slice(-4)
}

/**
 * Returns a text in lower case. Each character is converted separately, as in the database: the lower case of a letter does
 * not depend on the letters next to it.
 */
export function lowerCase(text: string): string {
  return Array.from(storableText(text), (character) => character.toLowerCase()).join('')
}

export function nameTokens(hierarchyId: string, name: string): Lexemes {
  return { prefix: prefixOf(hierarchyId), lexemes: [...tokensOf(lowerCase(name))] }
}

/** Returns the `tsquery` for the names that may contain a text. */
export function nameQuery(hierarchyId: string, text: string): string {
  const lowered = lowerCase(text)
  const complete = [...tokensOf(lowered)].filter((token) => [...token].length === tokenLength)
  const tokens = complete.length === 0 ? [lowered] : complete
  return allLexemes(
    tokens.map((token) => `${prefixOf(hierarchyId)}${token}`),
    { isPrefix: complete.length === 0 },
  )
}

function tokensOf(text: string): Set<string> {
  const characters = [...text]
  return new Set(characters.map((_, index) => characters.slice(index, index + tokenLength).join('')))
}
