import { Problem } from '@millwright/api/problem.ts'
import {
  all,
  type Comparison,
  canonicalName,
  comparisons,
  type Expression,
  either,
  filterLimits,
  type Literal,
  type Path,
  type TextFunction,
  textFunctions,
} from './expression.ts'
import { type Token, tokensOf } from './lexer.ts'

const operators: readonly string[] = [...comparisons, 'in']
const functions: readonly string[] = textFunctions
const constants = ['true', 'false', 'null']
const keywords = new Set([...operators, ...functions, ...constants, 'and', 'or', 'not'])
const shownCharacters = 40

/** The context of a condition: its nesting depth, and the variable of the `any` around it. */
type Place = { depth: number; variable?: string }

/**
 * Parses a filter. The precedence is as in OData: `not`, comparison, `and`, `or`. A property without a comparison is
 * not a condition, so `not name eq 'x'` can only mean `not (name eq 'x')`.
 */
export function parseFilter(text: string): Expression {
  const bytes = text.length > filterLimits.bytes ? text.length : Buffer.byteLength(text)
  if (bytes > filterLimits.bytes)
    throw new Problem('invalid_filter', `The filter is longer than ${filterLimits.bytes} bytes`)
  return new Parser(tokensOf(text)).filter()
}

/** Creates the error for an invalid filter, with the column of the fault. */
export function invalidFilter(at: number, detail: string): Problem {
  return new Problem('invalid_filter', `Column ${at}: ${detail}`)
}

class Parser {
  readonly #tokens: readonly Token[]
  #position = 0
  #terms = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  filter(): Expression {
    const expression = this.#or({ depth: 0 })
    if (this.#next.kind !== 'end') throw this.#expected('"and", "or" or the end of the filter')
    return expression
  }

  #or(place: Place): Expression {
    const terms = [this.#and(place)]
    while (this.#takeWord('or')) terms.push(this.#and(place))
    return either(terms)
  }

  #and(place: Place): Expression {
    const terms = [this.#term(place)]
    while (this.#takeWord('and')) terms.push(this.#term(place))
    return all(terms)
  }

  #term(place: Place): Expression {
    const { kind, at } = this.#next
    if (place.depth > filterLimits.depth)
      throw invalidFilter(at, `conditions are nested more than ${filterLimits.depth} deep`)
    const deeper = { ...place, depth: place.depth + 1 }
    if (this.#takeWord('not')) {
      // Parentheses directly after `not` do not count as another level.
      return { kind: 'not', term: this.#next.kind === '(' ? this.#term(place) : this.#term(deeper) }
    }
    if (kind !== '(') return this.#condition(place)
    this.#take('(', '"("')
    const inner = this.#or(deeper)
    this.#take(')', '"and", "or" or ")"')
    return inner
  }

  #condition(place: Place): Expression {
    const token = this.#next
    if (++this.#terms > filterLimits.terms)
      throw invalidFilter(token.at, `a filter has at most ${filterLimits.terms} conditions`)
    const isCall = token.kind === 'name' && this.#tokens[this.#position + 1]?.kind === '('
    if (isCall && !isReserved(token.text))
      return /[./]any$/.test(token.text) ? this.#any(place) : this.#textFunction(place)
    return this.#comparison(this.#property(place, ', "not", "(" or a function'))
  }

  #textFunction(place: Place): Expression {
    const { text, at } = this.#next
    if (!functions.includes(text)) throw this.#expected(`${functions.join(', ')} or an array with /any`)
    this.#position++
    this.#take('(', '"("')
    const property = this.#property(place)
    this.#take(',', '","')
    const { text: value, at: literalAt } = this.#take('text', 'text in single quotes')
    this.#take(')', '")"')
    return {
      kind: 'text',
      property,
      function: text as TextFunction,
      literal: { kind: 'text', value, at: literalAt },
      at,
    }
  }

  #any(place: Place): Expression {
    const array = this.#property(place)
    const property = { ...array, name: array.name.replace(/\/?any$/, '') }
    this.#take('(', '"("')
    if (this.#next.kind === ')') {
      this.#position++
      return { kind: 'any', property }
    }
    const variable = this.#take('name', 'a name for the element, as in any(i: i/value eq 1), or ")"')
    if (/[./]/.test(variable.text) || keywords.has(variable.text))
      throw invalidFilter(variable.at, `expected a name for the element, found "${variable.text}"`)
    this.#take(':', '":"')
    const condition = this.#or({ depth: place.depth + 1, variable: variable.text })
    this.#take(')', '"and", "or" or ")"')
    return { kind: 'any', property, lambda: { variable: variable.text, condition } }
  }

  #property({ variable }: Place, orElse = ''): Path {
    const what = variable === undefined ? 'a property' : `a property of the element (${variable}/…)`
    const { kind, text, at } = this.#next
    const name = canonicalName(text)
    const isElsewhere = variable !== undefined && name !== variable && !name.startsWith(`${variable}/`)
    if (kind !== 'name' || isElsewhere || isReserved(text.toLowerCase())) throw this.#expected(what + orElse)
    this.#position++
    return { name: variable === undefined ? name : name.slice(variable.length + 1), at }
  }

  #comparison(property: Path): Expression {
    const { kind, text, at } = this.#next
    if (kind !== 'name' || !operators.includes(text)) throw this.#expected(`an operator (${operators.join(', ')})`)
    this.#position++
    if (text === 'in') return { kind: 'in', property, literals: this.#list(), at }
    const literal = this.#literal()
    if (literal.kind === 'null' && text !== 'eq' && text !== 'ne')
      throw invalidFilter(literal.at, `null can only be compared with eq and ne, expected another value after ${text}`)
    return { kind: 'comparison', property, operator: text as Comparison, literal, at }
  }

  #list(): Literal[] {
    this.#take('(', '"(" and a list of values')
    const literals: Literal[] = []
    do {
      const literal = this.#literal()
      if (literal.kind === 'null')
        throw invalidFilter(literal.at, 'expected a value other than null; to match null, add "or … eq null"')
      literals.push(literal)
    } while (this.#takeComma())
    this.#take(')', '"," or ")"')
    return literals
  }

  #literal(): Literal {
    const { kind, text, at } = this.#next
    const isConstant = kind === 'name' && constants.includes(text)
    if (kind !== 'text' && kind !== 'number' && !isConstant)
      throw this.#expected('text in single quotes, a number, true, false or null')
    this.#position++
    if (kind === 'text' || kind === 'number') return { kind, value: text, at }
    return text === 'null' ? { kind: 'null', at } : { kind: 'boolean', value: text === 'true', at }
  }

  get #next(): Token {
    const token = this.#tokens[this.#position]
    if (token === undefined) throw new TypeError('The parser read past the end of the filter')
    return token
  }

  #take(kind: Token['kind'], what: string): Token {
    const token = this.#next
    if (token.kind !== kind) throw this.#expected(what)
    this.#position++
    return token
  }

  #takeComma(): boolean {
    const isComma = this.#next.kind === ','
    if (isComma) this.#position++
    return isComma
  }

  #takeWord(word: string): boolean {
    const isMatch = this.#next.kind === 'name' && this.#next.text === word
    if (isMatch) this.#position++
    return isMatch
  }

  #expected(what: string): Problem {
    const { kind, text, at } = this.#next
    if (kind === 'wrong') return invalidFilter(at, `expected ${what}, but ${text}`)
    return invalidFilter(at, `expected ${what}, found ${shown(this.#next)}${hintFor(kind, text)}`)
  }
}

function isReserved(word: string): boolean {
  return keywords.has(word) && !functions.includes(word)
}

function shown({ kind, text }: Token): string {
  if (kind === 'end') return 'the end of the filter'
  const short = [...text].slice(0, shownCharacters).join('')
  const cut = short.length < text.length ? `${short}…` : short
  return kind === 'text' ? `'${cut.replaceAll(`'`, `''`)}'` : `"${cut}"`
}

function hintFor(kind: Token['kind'], text: string): string {
  const last = /[^./]*$/.exec(text)?.[0] ?? ''
  const lower = last.toLowerCase()
  if (kind !== 'name' || lower === last) return ''
  return keywords.has(lower) || lower === 'any' ? `; keywords are lower-case: "${lower}"` : ''
}
