/**
 * The filter language. A filter is parsed to an expression, and the expression is compiled to SQL. The language does
 * not depend on the filtered data: each service passes a table of its properties.
 */
export { type Branch, branchesOf, isNarrow, valuesAlone, withoutPins } from './branches.ts'
export { type CompiledFilter, type CompileOptions, compileFilter } from './compiler.ts'
export { type Condition, canonicalName, type Expression, filterLimits, type Literal, type Path } from './expression.ts'
export { parseFilter } from './parser.ts'
export { printFilter } from './printer.ts'
export {
  type ArrayProperty,
  type Property,
  type PropertyTable,
  propertyTable,
  type Resolver,
  type Rows,
  type Scalar,
  type ScalarKind,
  timeOf,
  uuidOf,
} from './properties.ts'
export { parseSort, type SortKey } from './sorting.ts'
