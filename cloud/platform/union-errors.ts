import type { ErrorObject } from 'ajv/dist/2020.js'

/**
 * Reduces the errors of `anyOf` and `oneOf`. Ajv reports the errors of every branch that failed, plus one error for the
 * keyword itself, although the caller made only one mistake. `unionErrors` keeps the errors of the branch that the
 * value most likely belongs to. It prefers a branch whose type the value has. Next, it prefers the branch with fewer
 * fields that are missing, unknown or different from a constant. Then it prefers fewer errors, and finally the order in
 * the schema. Branches that fail in the same way are merged into one error ("must be a string or null"). Errors below a
 * `$ref` are reported unchanged, because their schema path does not show the branch.
 */
export function unionErrors(errors: readonly ErrorObject[]): ErrorObject[] {
  const left = new Set<ErrorObject>()
  /** The errors below each union, by the schema path of the union. */
  const below = new Map<string, ErrorObject[]>()
  const add = (error: ErrorObject) => {
    left.add(error)
    for (const path of unionPaths(error)) {
      const listed = below.get(path)
      if (listed === undefined) below.set(path, [error])
      else listed.push(error)
    }
  }
  // Ajv lists the errors of the branches before the error of their union. It lists an inner union before its outer
  // union.
  for (const error of errors) {
    const inside = isUnion(error) ? (below.get(error.schemaPath) ?? []).filter((each) => left.has(each)) : []
    const ofBranches = inside.filter((each) => isAtOrBelow(error.instancePath, each))
    if (ofBranches.length === 0) {
      add(error)
      continue
    }
    below.delete(error.schemaPath)
    const branches = [...Map.groupBy(ofBranches, (each) => branchOf(error, each)).values()]
    const taken = new Set(ofBranches)
    for (const each of taken) left.delete(each)
    for (const each of hasSeveralMatches(error) ? [error] : bestBranch(error, branches)) {
      // An error of a branch is already listed for the outer unions, so it is not listed again.
      if (taken.has(each)) left.add(each)
      else add(each)
    }
  }
  return withoutExplainedUnions([...left])
}

/** Returns the schema paths of all unions that an error may belong to. */
function unionPaths({ schemaPath }: ErrorObject): string[] {
  return [...schemaPath.matchAll(/\/(?:anyOf|oneOf)(?=\/)/g)].map(({ index }) =>
    schemaPath.slice(0, index + '/anyOf'.length),
  )
}

/**
 * Removes the error of a union if errors of its branches are also listed. Such errors are below a `$ref`, so their
 * schema path does not show the branch.
 */
function withoutExplainedUnions(errors: ErrorObject[]): ErrorObject[] {
  if (!errors.some(isUnion)) return errors
  /** The number of errors at or below each value, by the path of the value. */
  const counts = new Map<string, number>()
  for (const { instancePath } of errors) {
    for (let end = instancePath.length; end >= 0; end = end === 0 ? -1 : instancePath.lastIndexOf('/', end - 1)) {
      const path = instancePath.slice(0, end)
      counts.set(path, (counts.get(path) ?? 0) + 1)
    }
  }
  return errors.filter(
    (error) => !isUnion(error) || hasSeveralMatches(error) || (counts.get(error.instancePath) ?? 0) < 2,
  )
}

/**
 * Returns true if a value matches more than one branch of a `oneOf`. The errors of the other branches are then not
 * relevant.
 */
function hasSeveralMatches({ keyword, params }: ErrorObject): boolean {
  return keyword === 'oneOf' && Array.isArray(params.passingSchemas)
}

function isUnion({ keyword }: ErrorObject): boolean {
  return keyword === 'anyOf' || keyword === 'oneOf'
}

function isAtOrBelow(path: string, { instancePath }: ErrorObject): boolean {
  return instancePath === path || instancePath.startsWith(`${path}/`)
}

function branchOf(union: ErrorObject, { schemaPath }: ErrorObject): string {
  return schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0] ?? ''
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

/** Returns the allowed values of a branch that consists only of a constant or an enumeration. */
function allowedValues(union: ErrorObject, errors: readonly ErrorObject[]): unknown[] | undefined {
  const [error] = errors
  if (errors.length !== 1 || error === undefined || error.instancePath !== union.instancePath) return undefined
  if (error.keyword === 'const') return [error.params.allowedValue]
  return error.keyword === 'enum' ? (error.params.allowedValues as unknown[]) : undefined
}

/** Returns the number of errors which show that the value belongs to another branch. */
function structuralErrors({ instancePath }: ErrorObject, errors: readonly ErrorObject[]): number {
  const isStructural = (error: ErrorObject) =>
    error.instancePath === instancePath
      ? ['required', 'additionalProperties', 'unevaluatedProperties'].includes(error.keyword)
      : error.keyword === 'const' && !error.instancePath.slice(instancePath.length + 1).includes('/')
  return errors.filter(isStructural).length
}

/** Returns one error that names all missing fields, if the only error of each branch is one missing field. */
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
