import { storableText } from '../database/json.ts'
import { filterLimits } from './expression.ts'

export type Token = {
  /**
   * `wrong` marks text that is not a token, and the text of this token is the reason. The parser reports it when it
   * reaches this token, so that the first error in the filter is reported.
   */
  readonly kind: 'name' | 'text' | 'number' | '(' | ')' | ',' | ':' | 'end' | 'wrong'
  readonly text: string
  /** The column in characters, starting at 1. */
  readonly at: number
}

const blank = /[ \t\r\n]+/y
/**
 * The pattern of a name. Hyphens are only allowed after a separator. Keys of custom properties contain hyphens, but `p
 * eq-1` must be three tokens.
 */
const name = /[A-Za-z_@$][\w@$]*(?:[./][\w@$-]+)*/y
/**
 * Matches every text that could be meant as a number. An error then contains the complete text, such as an unquoted
 * UUID or time.
 */
const numeric = /-?\d[\w.:+-]*/y
const number = /^-?\d+(?:\.\d+)?(?:[eE](?<exponent>[+-]?\d+))?$/
const astral = /[\u{10000}-\u{10ffff}]/gu

/** Returns the tokens of a filter. The last token is `end`. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let index = 0
  let pairs = 0
  while (index < text.length) {
    const spaces = matchAt(blank, text, index)
    if (spaces !== undefined) {
      index += spaces.length
      continue
    }
    const { length, ...token } = tokenAt(text, index)
    tokens.push({ ...token, at: index - pairs + 1 })
    if (token.kind === 'text') pairs += text.slice(index, index + length).match(astral)?.length ?? 0
    index += length
    if (token.kind === 'wrong') break
  }
  tokens.push({ kind: 'end', text: '', at: index - pairs + 1 })
  return tokens
}

type ScannedToken = Pick<Token, 'kind' | 'text'> & { length: number }

function tokenAt(text: string, index: number): ScannedToken {
  const character = text.charAt(index)
  if (character === '(' || character === ')' || character === ',' || character === ':')
    return { kind: character, text: character, length: 1 }
  if (character === `'`) return quoted(text, index)
  const named = matchAt(name, text, index)
  if (named !== undefined) return { kind: 'name', text: named, length: named.length }
  const digits = matchAt(numeric, text, index)
  if (digits !== undefined) return { ...readNumber(digits), length: digits.length }
  const strange = String.fromCodePoint(text.codePointAt(index) ?? 0).toWellFormed()
  const hint = character === '"' ? '; write text in single quotes' : ''
  return {
    kind: 'wrong',
    text: `${JSON.stringify(strange)} is not part of the filter language${hint}`,
    length: strange.length,
  }
}

/**
 * Scans a quoted text character by character. A regular expression could backtrack and treat the first half of an
 * escaped quote as the end of the text.
 */
function quoted(text: string, index: number): ScannedToken {
  let from = index + 1
  for (;;) {
    const end = text.indexOf(`'`, from)
    if (end === -1)
      return { kind: 'wrong', text: 'the text that starts here has no closing quote', length: text.length - index }
    if (text.charAt(end + 1) !== `'`) {
      const value = text.slice(index + 1, end).replaceAll(`''`, `'`)
      return { kind: 'text', text: storableText(value), length: end + 1 - index }
    }
    from = end + 2
  }
}

function readNumber(digits: string): Pick<Token, 'kind' | 'text'> {
  const match = number.exec(digits)
  if (match === null)
    return { kind: 'wrong', text: `"${digits.slice(0, 40)}" is not a number; UUIDs and times go in single quotes` }
  const exponent = Math.abs(Number(match.groups?.exponent ?? 0))
  if (digits.length > filterLimits.numberCharacters || exponent > filterLimits.numberExponent)
    return {
      kind: 'wrong',
      text: `a number has at most ${filterLimits.numberCharacters} characters, and an exponent of at most ${filterLimits.numberExponent}`,
    }
  return { kind: 'number', text: digits }
}

function matchAt(pattern: RegExp, text: string, index: number): string | undefined {
  pattern.lastIndex = index
  return pattern.exec(text)?.[0]
}
