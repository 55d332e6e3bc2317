import { storableText } from '../../platform/database/json.ts'
import type { Lexemes } from '../../platform/database/rowset.ts'
import { allLexemes } from '../../platform/database/text-search.ts'

/**
 * The tokens of the names of nodes. They find the names that contain a text with an index.
 *
 * A name has one token for each of its first characters: the character and the two characters after it, in lower case. The
 * last two tokens of a short name are shorter. A name that contains a text of three or more characters has all tokens of
 * three characters of the text. A name that contains a shorter text has a token that begins with the text.
 *
 * A long name has tokens only for its first characters, and the token `long`. Each query also returns the names with this
 * token. The search compares the names that the index returns, so it finds a text anywhere in a long name.
 */

const tokenLength = 3
/** The number of characters that have a token. Few names are longer, and the time to store a name grows with its tokens. */
const indexedCharacters = 48
/** The token of long names. It is longer than all other tokens. */
const longToken = 'long'

/**
 * Returns the prefix of all tokens of a hierarchy, so that an index look-up does not read the entries of other hierarchies.
 * Two hierarchies may have the same prefix, so each query also filters by hierarchy.
 */
function prefixOf(hierarchyId: string): string {
  return hierarchyId.slice(-4)
}

/**
 * Returns a text in lower case. Each character is converted separately, as in the database: the lower case of a letter does
 * not depend on the letters next to it, and is one character. JavaScript converts only `İ` to two characters: the first of
 * them is the lower case in the database.
 */
export function lowerCase(text: string): string {
  const storable = storableText(text)
  if (isAscii(storable)) return storable.toLowerCase()
  return Array.from(storable, (character) => {
    const code = character.toLowerCase().codePointAt(0)
    return code === undefined ? '' : String.fromCodePoint(code)
  }).join('')
}

/** Returns true if a text has only printable ASCII characters. */
export function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text)
}

export function nameTokens(hierarchyId: string, name: string): Lexemes {
  const characters = charactersOf(lowerCase(name))
  const lexemes = tokensOf(characters.slice(0, indexedCharacters + tokenLength - 1), indexedCharacters)
  if (characters.length > indexedCharacters) lexemes.push(longToken)
  return { prefix: prefixOf(hierarchyId), lexemes }
}

/** Returns the `tsquery` for the names that may contain a text. */
export function nameQuery(hierarchyId: string, text: string): string {
  const prefix = prefixOf(hierarchyId)
  const characters = charactersOf(lowerCase(text))
  const isShort = characters.length < tokenLength
  const tokens = isShort ? [characters.join('')] : tokensOf(characters, characters.length - tokenLength + 1)
  const all = allLexemes(
    tokens.map((token) => `${prefix}${token}`),
    { isPrefix: isShort },
  )
  return `${all} | ${allLexemes([prefix + longToken], { isPrefix: false })}`
}

function charactersOf(text: string): string[] {
  return isAscii(text) ? text.split('') : [...text]
}

/** Returns the different tokens that start at the first characters. */
function tokensOf(characters: readonly string[], starts: number): string[] {
  const tokens = new Set<string>()
  for (let index = 0; index < Math.min(starts, characters.length); index++)
    tokens.add(`${characters[index]}${characters[index + 1] ?? ''}${characters[index + 2] ?? ''}`)
  return [...tokens]
}
