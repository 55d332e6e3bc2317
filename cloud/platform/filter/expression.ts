/**
 * The types of a parsed filter. The parts of a name are separated by `/`. `at` is the column in the text of the filter,
 * starting at 1.
 */

export const comparisons = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'] as const
export type Comparison = (typeof comparisons)[number]

export const textFunctions = ['contains', 'startswith', 'endswith'] as const
export type TextFunction = (typeof textFunctions)[number]

/** The name of a property. Inside `any`, a name is relative to the element, and an empty name is the element itself. */
export type Path = { readonly name: string; readonly at: number }

export type TextLiteral = { readonly kind: 'text'; readonly value: string; readonly at: number }

export type Literal =
  | TextLiteral
  /**
   * The number as it was written, because a floating-point number would lose digits. The database parses it exactly.
   */
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

/**
 * `AnyElement` is true if at least one element of an array matches the condition. Without a condition, it is true if
 * the array is not empty.
 */
export type AnyElement = {
  readonly kind: 'any'
  readonly property: Path
  readonly lambda?: { readonly variable: string; readonly condition: Expression }
}

export const filterLimits = {
  /** The maximum bytes of the text of a filter, in UTF-8. */
  bytes: 4096,
  /** The maximum number of conditions in one filter. */
  terms: 64,
  /** The maximum nesting of parentheses, `not` and `any`. */
  depth: 32,
  /** The maximum number of conditions after the filter was split into its branches. */
  branchTerms: 1024,
  /** `numberCharacters` limits the length of a number, and `numberExponent` limits its exponent. */
  numberCharacters: 64,
  numberExponent: 300,
  /** The maximum number of properties to sort by. */
  sortKeys: 8,
} as const

/** Returns a name with `/` as separator. `.` and `/` have the same meaning. */
export function canonicalName(name: string): string {
  return name.replaceAll('.', '/')
}

export function all(terms: readonly Expression[]): Expression {
  return joined('and', terms)
}

export function either(terms: readonly Expression[]): Expression {
  return joined('or', terms)
}

/** Joins terms and flattens nested ones: `a and (b and c)` becomes `a and b and c`. */
function joined(kind: 'and' | 'or', terms: readonly Expression[]): Expression {
  const [first, ...others] = terms.flatMap((term) => (term.kind === kind ? term.terms : [term]))
  if (first === undefined) throw new TypeError(`An "${kind}" has at least one term`)
  return others.length === 0 ? first : { kind, terms: [first, ...others] }
}
