import type { Condition, Expression, Literal, Path } from './expression.ts'

/** Prints a filter in canonical form. Parsing the result gives the same expression. */
export function printFilter(expression: Expression): string {
  return print(expression, undefined)
}

function print(expression: Expression, variable: string | undefined): string {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return expression.terms
        .map((term) => (bindsWeaker(term, expression.kind) ? `(${print(term, variable)})` : print(term, variable)))
        .join(` ${expression.kind} `)
    case 'not':
      return `not (${print(expression.term, variable)})`
    default:
      return printCondition(expression, variable)
  }
}

function bindsWeaker(term: Expression, within: 'and' | 'or'): boolean {
  return term.kind === within || (within === 'and' && term.kind === 'or')
}

function printCondition(condition: Condition, variable: string | undefined): string {
  const property = printPath(condition.property, variable)
  switch (condition.kind) {
    case 'comparison':
      return `${property} ${condition.operator} ${printLiteral(condition.literal)}`
    case 'in':
      return `${property} in (${condition.literals.map(printLiteral).join(', ')})`
    case 'text':
      return `${condition.function}(${property}, ${printLiteral(condition.literal)})`
    case 'any': {
      const { lambda } = condition
      return lambda === undefined
        ? `${property}/any()`
        : `${property}/any(${lambda.variable}: ${print(lambda.condition, lambda.variable)})`
    }
  }
}

function printPath({ name }: Path, variable: string | undefined): string {
  return [variable, name].filter((part) => part !== undefined && part !== '').join('/')
}

function printLiteral(literal: Literal): string {
  if (literal.kind === 'null') return 'null'
  return literal.kind === 'text' ? `'${literal.value.replaceAll(`'`, `''`)}'` : String(literal.value)
}
