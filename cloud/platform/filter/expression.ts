/** A filter as plain data. Names are separated by `/`; `at` is the column (from 1) in the text of the filter. */

export const comparisons = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'] as const
export type Comparison = (typeof comparisons)[number]

export const textFunctions = ['contains', 'startswith', 'endswith'] as const
export type TextFunction = (typeof textFunctions)[number]

/** Inside `any`, a name is relative to the element. An empty name is the element itself. */
export type Path = { readonly name: string; readonly at: number }

export type TextLiteral = { readonly kind: 'text'; readonly value: string; readonly at: number }

export type Literal =
  | TextLiteral
  /** As it was written, because a floating-point number would lose digits. The database parses it exactly. */
  | { readonly kind: 'number'; readonly value: string; readonly at: number }
  | { readonly kind: 'boolean'; readonly value: boolean; readonly at: number }
  | { readonly kind: 'null'; readonly at: number }

export type Expression =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Expression[] }
  | { readonly kind: 'not'; readonly term: Expression }
  | Condition

export type Condition =
  | {
      readonly kind: 'comparison'
      readonly property: Path
      readonly operator: Comparison
      readonly literal: Literal
      readonly at: number
    }
  | { readonly kind: 'in'; readonly property: Path; readonly literals: readonly Literal[]; readonly at: number }
  | {
      readonly kind: 'text'
      readonly property: Path
      readonly function: TextFunction
      readonly literal: TextLiteral
      readonly at: number
    }
  | AnyElement

/** At least one element of an array matches the condition. Without a condition, the array is not empty. */
export type AnyElement = {
  readonly kind: 'any'
  readonly property: Path
  readonly lambda?: { readonly variable: string; readonly condition: Expression }
}

export const filterLimits = {
  /** Of the text, in UTF-8. */
  bytes: 4096,
  /** Conditions in one filter. */
  terms: 64,
  /** Parentheses, `not` and `any` inside each other. */
  depth: 32,
  /** Conditions after the filter was split into its alternatives. */
  branchTerms: 1024,
  /** Characters of a number, and its exponent. */
  numberCharacters: 64,
  numberExponent: 300,
  /** Properties to sort by. */
  sortKeys: 8,
} as const

/** Both separators have the same meaning. */
export function canonicalName(name: string): string {
  return name.replaceAll('.', '/')
}

export function all(terms: readonly Expression[]): Expression {
  return joined('and', terms)
}

export function either(terms: readonly Expression[]): Expression {
  return joined('or', terms)
}

/** `a and (b and c)` is `a and b and c`. */
function joined(kind: 'and' | 'or', terms: readonly Expression[]): Expression {
  const [first, ...others] = terms.flatMap((term) => (term.kind === kind ? term.terms : [term]))
  if (first === undefined) throw new TypeError(`An "${kind}" has at least one term`)
  return others.length === 0 ? first : { kind, terms: [first, ...others] }
}
