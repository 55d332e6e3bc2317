import type { ErrorObject } from 'ajv/dist/2020.js'

/**
 * Ajv reports the errors of every branch of an `anyOf` or `oneOf` that failed, plus one error for the keyword itself. A
 * caller made one mistake and wants one error: `unionErrors` keeps the errors of the branch that the value most likely
 * belongs to.
 *
 * A branch is preferred when the value has its type, then when fewer fields of the value itself are missing, unknown or
 * different from a constant of the branch, then when it has fewer errors, then by its order in the schema. Branches that
 * fail in the same way are merged into one error ("must be string or null"). Errors below a `$ref` carry no branch in their
 * schema path; they are reported unchanged.
 */
export function unionErrors(errors: readonly ErrorObject[]): ErrorObject[] {
  let left = [...errors]
  // Ajv lists the error of an inner union before the error of the union around it.
  for (const union of errors.filter(isUnion)) {
    const belongs = (error: ErrorObject) => isBelow(union, error)
    const branches = [...Map.groupBy(left.filter(belongs), (error) => branchOf(union, error)).values()]
    if (branches.length === 0) continue
    const reported = hasSeveralMatches(union) ? [union] : bestBranch(union, branches)
    left = left.flatMap((error) => (error === union ? reported : belongs(error) ? [] : error))
  }
  return left.filter((error) => !isUnion(error) || hasSeveralMatches(error) || !hasErrorBelow(left, error))
}

/** True for a value that fits more than one branch of a `oneOf`: then the errors of the other branches do not matter. */
function hasSeveralMatches({ keyword, params }: ErrorObject): boolean {
  return keyword === 'oneOf' && Array.isArray(params.passingSchemas)
}

function isUnion({ keyword }: ErrorObject): boolean {
  return keyword === 'anyOf' || keyword === 'oneOf'
}

function isBelow(union: ErrorObject, { schemaPath, instancePath }: ErrorObject): boolean {
  const isSameValue = instancePath === union.instancePath || instancePath.startsWith(`${union.instancePath}/`)
  return isSameValue && schemaPath.startsWith(`${union.schemaPath}/`)
}

function branchOf(union: ErrorObject, { schemaPath }: ErrorObject): string {
  return schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0] ?? ''
}

/** True when the errors of a union's branches are listed although their schema path does not show the branch. */
function hasErrorBelow(errors: readonly ErrorObject[], union: ErrorObject): boolean {
  return errors.some(
    (error) =>
      error !== union &&
      (error.instancePath === union.instancePath || error.instancePath.startsWith(`${union.instancePath}/`)),
  )
}

function bestBranch(union: ErrorObject, branches: ErrorObject[][]): ErrorObject[] {
  const isTypeError = ({ keyword, instancePath }: ErrorObject) =>
    keyword === 'type' && instancePath === union.instancePath
  const typed = branches.filter((errors) => !errors.some(isTypeError))
  if (typed.length === 0) {
    const types = branches.flatMap((errors) =>
      errors.filter(isTypeError).flatMap(({ params }) => params.type as string),
    )
    return [{ ...union, keyword: 'type', params: { type: [...new Set(types)] } }]
  }
  const allowed = typed.map((errors) => allowedValues(union, errors))
  if (allowed.every((values) => values !== undefined)) {
    return [{ ...union, keyword: 'enum', params: { allowedValues: [...new Set(allowed.flat())] } }]
  }
  const ranked = typed.toSorted(
    (one, other) => structuralErrors(union, one) - structuralErrors(union, other) || one.length - other.length,
  )
  const [best = []] = ranked
  return alternativesOf(union, ranked) ?? best
}

/** The values that a branch of nothing but a constant or an enumeration allows. */
function allowedValues(union: ErrorObject, errors: readonly ErrorObject[]): unknown[] | undefined {
  const [error] = errors
  if (errors.length !== 1 || error === undefined || error.instancePath !== union.instancePath) return undefined
  if (error.keyword === 'const') return [error.params.allowedValue]
  return error.keyword === 'enum' ? (error.params.allowedValues as unknown[]) : undefined
}

/** Errors which show that the value was written for another branch. */
function structuralErrors({ instancePath }: ErrorObject, errors: readonly ErrorObject[]): number {
  const isStructural = (error: ErrorObject) =>
    error.instancePath === instancePath
      ? ['required', 'additionalProperties', 'unevaluatedProperties'].includes(error.keyword)
      : error.keyword === 'const' && !error.instancePath.slice(instancePath.length + 1).includes('/')
  return errors.filter(isStructural).length
}

/** When each branch lacks only one field of the value, one error names all these fields. */
function alternativesOf(union: ErrorObject, branches: readonly ErrorObject[][]): ErrorObject[] | undefined {
  const missing = branches.map((errors) =>
    errors.length === 1 && errors[0]?.keyword === 'required' && errors[0].instancePath === union.instancePath
      ? errors[0]
      : undefined,
  )
  const [first] = missing
  if (branches.length < 2 || first === undefined || missing.includes(undefined)) return undefined
  const alternatives = [...new Set(missing.map((error) => error?.params.missingProperty as string))].slice(1)
  return [{ ...first, params: { ...first.params, alternatives } }]
}
