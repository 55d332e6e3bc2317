/**
 * This file converts filters between a list of conditions and an expression in the filter language. Every list can be
 * converted to an expression. An expression that is nested, negated, or combines `and` with `or` cannot be converted to
 * a list.
 */

export const operators = ['eq', 'ne', 'contains', 'startswith', 'endswith', 'gt', 'lt', 'is-empty', 'is-set'] as const
export type Operator = (typeof operators)[number]

export type Condition = {
  /**
   * The path of the property in the filter language. `array/any/field` is the path of a field in the elements of an
   * array.
   */
  path: string
  operator: Operator
  value: string
}

export type ConditionList = { conditions: readonly Condition[]; join: 'and' | 'or' }

export function filterOf({ conditions, join }: ConditionList): string {
  return conditions.map(textOf).join(` ${join} `)
}

function textOf({ path, operator, value }: Condition): string {
  const [array, field] = path.split('/any/')
  if (array === undefined || field === undefined) return comparison(path, operator, value)
  if (operator === 'is-set') return `${array}/any(e: e/${field} ne null)`
  if (operator === 'is-empty') return `not ${array}/any(e: e/${field} ne null)`
  return `${array}/any(e: ${comparison(`e/${field}`, operator, value)})`
}

function comparison(path: string, operator: Operator, value: string): string {
  const literal = quoted(value)
  if (operator === 'is-empty') return `${path} eq null`
  if (operator === 'is-set') return `${path} ne null`
  if (operator === 'contains' || operator === 'startswith' || operator === 'endswith') {
    return `${operator}(${path}, ${literal})`
  }
  return `${path} ${operator} ${literal}`
}

export function quoted(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}

const token = /\s*('(?:[^']|'')*'|[A-Za-z_][\w./-]*|[(),:])/y

function tokensOf(text: string): string[] | undefined {
  const tokens: string[] = []
  token.lastIndex = 0
  while (token.lastIndex < text.trimEnd().length) {
    const match = token.exec(text)
    if (match === null) return undefined
    tokens.push(match[1] ?? '')
  }
  return tokens
}

/** Parses an expression to a list of conditions. Returns undefined if the expression cannot be converted to a list. */
export function conditionsOf(text: string): ConditionList | undefined {
  if (text.trim() === '') return { conditions: [], join: 'and' }
  const tokens = tokensOf(text)
  if (tokens === undefined) return undefined
  const reader = new Reader(tokens)
  const conditions: Condition[] = []
  const joins = new Set<string>()
  for (;;) {
    const condition = reader.condition()
    if (condition === undefined) return undefined
    conditions.push(condition)
    if (reader.isAtEnd) break
    joins.add(reader.take())
  }
  const [join = 'and'] = joins
  if (joins.size > 1 || (join !== 'and' && join !== 'or')) return undefined
  return { conditions, join }
}

class Reader {
  readonly #tokens: readonly string[]
  #at = 0

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length
  }

  take(): string {
    return this.#tokens[this.#at++] ?? ''
  }

  condition(): Condition | undefined {
    const first = this.take()
    if (first === 'not') return this.#emptyArray()
    if (first === 'contains' || first === 'startswith' || first === 'endswith') return this.#matching(first)
    if (first.endsWith('/any')) return this.#inArray(first.slice(0, -'/any'.length))
    return this.#comparing(first)
  }

  #comparing(path: string): Condition | undefined {
    const operator = this.take()
    const value = this.take()
    if (!/^[a-z_]/.test(path)) return undefined
    if (value === 'null' && operator === 'eq') return { path, operator: 'is-empty', value: '' }
    if (value === 'null' && operator === 'ne') return { path, operator: 'is-set', value: '' }
    if (operator !== 'eq' && operator !== 'ne' && operator !== 'gt' && operator !== 'lt') return undefined
    return isLiteral(value) ? { path, operator, value: unquoted(value) } : undefined
  }

  #matching(operator: 'contains' | 'startswith' | 'endswith'): Condition | undefined {
    const [open, path = '', comma, value = '', close] = [
      this.take(),
      this.take(),
      this.take(),
      this.take(),
      this.take(),
    ]
    if (open !== '(' || comma !== ',' || close !== ')' || !isLiteral(value)) return undefined
    return { path, operator, value: unquoted(value) }
  }

  #inArray(array: string): Condition | undefined {
    const [open, name = '', colon] = [this.take(), this.take(), this.take()]
    if (open !== '(' || colon !== ':') return undefined
    const inner = this.condition()
    if (inner === undefined || this.take() !== ')' || !inner.path.startsWith(`${name}/`)) return undefined
    return { ...inner, path: `${array}/any/${inner.path.slice(name.length + 1)}` }
  }

  #emptyArray(): Condition | undefined {
    const inner = this.condition()
    if (inner === undefined || inner.operator !== 'is-set' || !inner.path.includes('/any/')) return undefined
    return { ...inner, operator: 'is-empty' }
  }
}

function isLiteral(token: string): boolean {
  return token.startsWith("'") && token.endsWith("'") && token.length > 1
}

function unquoted(token: string): string {
  return token.slice(1, -1).replaceAll("''", "'")
}

/** Combines two filters with `and`. An empty filter is ignored. */
export function andFilters(one: string, other: string): string {
  if (one.trim() === '' || other.trim() === '') return one.trim() || other.trim()
  return `(${one}) and (${other})`
}
