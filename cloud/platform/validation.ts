import type { Contract, ItemErrors, Operation } from '@millwright/api/contract.ts'
import { isEmpty, isMedia, takesFile } from '@millwright/api/contract.ts'
import { patternError } from '@millwright/api/envelope.ts'
import { type FieldError, Problem, type ProblemCode } from '@millwright/api/problem.ts'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { IsOptional, type TSchema } from 'typebox'
import { limitedErrors, listedValues, schemaValueText } from './error-limits.ts'
import { isObject, mapMembers, type PlainObject } from './plain-object.ts'
import type { Answer } from './service.ts'
import { unionErrors } from './union-errors.ts'
import { bodyInSteps, longListIn, validateInSteps } from './validation-steps.ts'

/** The maximum number of errors that the response to one request lists. */
const reportedErrors = 50
/** The maximum number of errors of the validator that are examined. The reported errors are selected from them. */
const examinedErrors = 500

/** The number of entries of a list that are examined after the first invalid entry. */
const examinedEntries = 50

/**
 * `strict` validates bodies and converts no types. `firstError` stops at the first error. A body with many invalid entries
 * would otherwise create an error object for each of them. Queries and paths are text, so another validator converts them
 * to the types of the contract.
 */
const strict = createAjv({ coerceTypes: false, allErrors: true })
const firstError = createAjv({ coerceTypes: false, allErrors: false })
const coercing = createAjv({ coerceTypes: true, allErrors: true })

function createAjv(options: { coerceTypes: boolean; allErrors: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    ...options,
    useDefaults: true,
    strictSchema: true,
    strictTypes: false,
    verbose: true,
    // A test validates the schemas of the contracts, so that a start need not do it.
    validateSchema: false,
  })
  // The package is CommonJS: its function is `default.default`.
  ;(addFormats as unknown as { default: typeof addFormats.default }).default(ajv)
  ajv.addKeyword({
    keyword: 'lowercased',
    type: 'string',
    modifying: true,
    schema: false,
    validate: (
      value: string,
      context?: { parentData: Record<string, unknown>; parentDataProperty: string | number },
    ) => {
      if (context !== undefined) context.parentData[context.parentDataProperty] = value.toLowerCase()
      return true
    },
  })
  return ajv
}

export type RawInput = {
  params?: unknown
  query?: unknown
  body?: unknown
  headers?: Record<string, string | undefined>
  /** The errors of the items of a batch. The validation sets them for operations with `batchItems`. */
  itemErrors?: ItemErrors
}

type Check = {
  part: 'params' | 'query' | 'body'
  code: ProblemCode
  errorsIn: (value: unknown) => readonly ErrorObject[]
}

/**
 * Creates a function that validates an input against its operation and sets defaults. A body with a very long list is
 * validated in several turns of the event loop. Then the function returns a promise.
 */
export function inputValidator(
  operation: Operation,
): (input: RawInput, tenantId?: string) => Promise<void> | undefined {
  const checks: Check[] = []
  const { params, query, body, batchItems } = operation
  if (params !== undefined) checks.push({ part: 'params', code: 'invalid_path', errorsIn: allErrors(coercing, params) })
  if (query !== undefined) checks.push({ part: 'query', code: 'invalid_query', errorsIn: allErrors(coercing, query) })
  // Each invalid item of a batch has its own result, so all errors are needed.
  if (body !== undefined && !takesFile(operation)) {
    const validatorErrors = batchItems === undefined ? firstErrors(body) : allErrors(strict, body)
    const errorsIn = (value: unknown) => {
      const tooLong = lengthError(body, value, batchItems)
      return tooLong === undefined ? validatorErrors(value) : [tooLong]
    }
    checks.push({ part: 'body', code: 'invalid_body', errorsIn })
  }
  const takesQuery = query !== undefined
  const isBodyOptional = IsOptional(body)
  const longList = batchItems === undefined && body !== undefined ? longListIn(body) : undefined

  return (input, tenantId = '') => {
    if (!takesQuery) refuseQuery(input.query)
    for (const { part, code, errorsIn } of checks) {
      if (part === 'query') input.query ??= {}
      if (part === 'body' && input.body === undefined && isBodyOptional) continue
      const long = part === 'body' ? bodyInSteps(input.body, longList) : undefined
      // The body is the last part of an input.
      if (long !== undefined)
        return validateInSteps(long, { tenantId, errorsIn, examinedEntries }).then((validated) => {
          if (validated.errors.length > 0) throw invalid(code, validated.errors)
          input.body = validated.body
        })
      const { ofRequest, ofItems } = splitErrors(errorsIn(input[part]), part === 'body' ? batchItems : undefined)
      if (ofRequest.length > 0) throw invalid(code, ofRequest)
      if (part === 'body' && batchItems !== undefined)
        input.itemErrors = new Map(ofItems.entries().map(([index, errors]) => [index, invalid(code, errors)]))
    }
    if (takesFile(operation) && input.body === undefined) throw missingFile()
    return undefined
  }
}

function missingFile(): Problem {
  const detail = 'The file is missing. Send it as the field "file" of a form, or as the body with its media type'
  return new Problem('invalid_body', detail, { errors: [{ pointer: '', code: 'missing', detail: 'is missing' }] })
}

/** Separates the errors inside the items of a batch from the errors of the whole request. */
function splitErrors(errors: readonly ErrorObject[], batchItems: string | undefined) {
  const ofRequest: ErrorObject[] = []
  const ofItems = new Map<number, ErrorObject[]>()
  for (const error of errors) {
    const [, index] =
      batchItems !== undefined && error.instancePath.startsWith(`${batchItems}/`)
        ? (/^\/(\d+)(?:\/|$)/.exec(error.instancePath.slice(batchItems.length)) ?? [])
        : []
    if (index === undefined) ofRequest.push(error)
    else {
      const ofItem = ofItems.get(Number(index))
      if (ofItem === undefined) ofItems.set(Number(index), [error])
      else ofItem.push(error)
    }
  }
  return { ofRequest, ofItems }
}

type ListSchema = { properties?: Record<string, ListSchema>; items?: ListSchema; maxItems?: number }

/**
 * Returns the error of the first list of a body with too many entries, because the validator would check all entries before
 * it reports the length. Lists inside the items of a batch are left to the validator, because their errors belong to the
 * item.
 */
function lengthError(schema: TSchema, body: unknown, batchItems: string | undefined): ErrorObject | undefined {
  const look = (
    { properties = {}, items, maxItems: limit }: ListSchema,
    value: unknown,
    path: string,
  ): ErrorObject | undefined => {
    if (Array.isArray(value)) {
      if (limit !== undefined && value.length > limit) return tooManyItems(path, limit)
      if (items === undefined || path === batchItems || !hasLists(items)) return undefined
      for (const [index, entry] of value.entries()) {
        const error = look(items, entry, `${path}/${index}`)
        if (error !== undefined) return error
      }
    } else if (isObject(value)) {
      for (const name of Object.keys(properties)) {
        const member = Object.hasOwn(value, name) ? properties[name] : undefined
        const error = member === undefined ? undefined : look(member, value[name], `${path}/${escaped(name)}`)
        if (error !== undefined) return error
      }
    }
    return undefined
  }
  return look(schema as ListSchema, body, '')
}

function hasLists({ properties = {}, items, maxItems }: ListSchema): boolean {
  return maxItems !== undefined || [items ?? [], Object.values(properties)].flat().some(hasLists)
}

function tooManyItems(instancePath: string, limit: number): ErrorObject {
  const message = `must NOT have more than ${limit} items`
  return { instancePath, schemaPath: '', keyword: 'maxItems', params: { limit }, message }
}

function allErrors(ajv: Ajv2020, schema: TSchema): Check['errorsIn'] {
  const validator = onFirstUse(ajv, schema)
  return (value) => {
    const run = validator()
    return run(value) ? [] : (run.errors ?? [])
  }
}

/** Returns the errors of a value up to shortly after the first one. A large value with many errors is not validated completely. */
function firstErrors(schema: TSchema): Check['errorsIn'] {
  const first = allErrors(firstError, schema)
  const all = allErrors(strict, schema)
  return (value) => {
    const found = first(value)
    const [error] = found
    if (error === undefined) return []
    const errors = all(shortened(value, error.instancePath.split('/').slice(1)))
    // The error is about a whole list. In a union, there is one error for each branch.
    return errors.length === 0 ? found : errors
  }
}

/**
 * Copies a value with fewer entries. The list on the path ends shortly after the entry on the path. Other lists have only
 * their first entries. A list at the end of the path is complete, because the error may concern its length.
 */
function shortened(value: unknown, path: readonly string[] | undefined): unknown {
  const [key, ...rest] = path ?? []
  if (Array.isArray(value)) {
    const isTarget = path !== undefined && key === undefined
    const end = isTarget ? value.length : (key === undefined ? 0 : Number(key) + 1) + examinedEntries
    return value.slice(0, end).map((entry, index) => shortened(entry, String(index) === key ? rest : undefined))
  }
  if (!isObject(value)) return value
  return mapMembers(value, (member, name) => shortened(member, escaped(name) === key ? rest : undefined))
}

/** Compiles a schema at its first use. Compiling takes most of the start time, and most operations are rarely used. */
function onFirstUse(ajv: Ajv2020, schema: TSchema): () => ValidateFunction {
  let compiled: ValidateFunction | undefined
  return () => {
    compiled ??= ajv.compile(schema)
    return compiled
  }
}

const changing = new WeakMap<object, boolean>()

/** Returns true if validation may change a value: it sets defaults and lowercases some texts. */
function changesValues(schema: TSchema): boolean {
  const cached = changing.get(schema)
  if (cached !== undefined) return cached
  let isFound = false
  JSON.stringify(schema, (name, value) => {
    if (name === 'default' || name === 'lowercased') isFound = true
    return isFound ? undefined : value
  })
  changing.set(schema, isFound)
  return isFound
}

/** Copies the parts of a value that validation may change. The other parts are not copied. */
export function copiedFor(schema: TSchema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !changesValues(schema)) return value
  const { properties, items } = schema as { properties?: Record<string, TSchema>; items?: TSchema }
  if (Array.isArray(value) && items !== undefined) return value.map((entry) => copiedFor(items, entry))
  if (Array.isArray(value) || properties === undefined) return structuredClone(value)
  return mapMembers(value as PlainObject, (member, name) => {
    const described = Object.hasOwn(properties, name) ? properties[name] : undefined
    return described === undefined ? member : copiedFor(described, member)
  })
}

function refuseQuery(query: unknown): void {
  const unknown = Object.keys(query ?? {})
  if (unknown.length === 0) return
  throw new Problem('unknown_parameter', `This operation has no query parameters. Remove ${unknown[0]}`)
}

function invalid(code: ProblemCode, errors: readonly ErrorObject[]): Problem {
  const fields = fieldErrors(errors)
  const unknown = code === 'invalid_query' && errors.every((error) => error.keyword === 'additionalProperties')
  const summary = fields
    .map((error) => `${error.pointer === '' ? 'the body' : error.pointer} ${error.detail}`)
    .slice(0, 3)
  return new Problem(unknown ? 'unknown_parameter' : code, summary.join('; '), { errors: fields })
}

/**
 * Converts errors of the validator to field errors with a JSON pointer. Returns at most `reportedErrors`. The validator
 * must be verbose.
 */
export function fieldErrors(errors: readonly ErrorObject[]): FieldError[] {
  // Most values are valid, and the steps below create several objects even without errors.
  if (errors.length === 0) return []
  const examined = errors.slice(0, examinedErrors).filter(({ keyword }) => keyword !== 'if')
  return limitedErrors(unionErrors(examined).slice(0, reportedErrors).values().map(fieldError))
}

function fieldError(error: ErrorObject): FieldError {
  const at = error.instancePath
  const parameters = error.params as Record<string, unknown>
  switch (error.keyword) {
    case 'required':
      return { pointer: `${at}/${escaped(parameters.missingProperty)}`, code: 'missing', detail: missingDetail(error) }
    case 'additionalProperties':
      return {
        pointer: `${at}/${escaped(parameters.additionalProperty)}`,
        code: 'unknown',
        detail: unknownDetail(error),
      }
    case 'unevaluatedProperties':
      return {
        pointer: `${at}/${escaped(parameters.unevaluatedProperty)}`,
        code: 'unknown',
        detail: 'is unknown',
      }
    case 'type':
      return { pointer: at, code: 'type', detail: `must be ${[parameters.type].flat().map(typeText).join(' or ')}` }
    case 'enum':
      return {
        pointer: at,
        code: 'enum',
        detail: `must be one of ${listedValues(parameters.allowedValues as unknown[])}`,
      }
    case 'const':
      return { pointer: at, code: 'const', detail: `must be ${constantText(parameters.allowedValue)}` }
    case 'pattern':
      return { pointer: at, code: 'pattern', detail: patternDetail(error) }
    case 'uniqueItems':
      return {
        pointer: at,
        code: 'uniqueItems',
        detail: `must not contain duplicates: entries ${parameters.j} and ${parameters.i} are equal`,
      }
    default:
      return { pointer: at, code: error.keyword, detail: error.message ?? 'is not valid' }
  }
}

/** Returns the name of a JSON type with its article. */
function typeText(type: unknown): string {
  if (type === 'null') return 'null'
  return /^[aio]/.test(String(type)) ? `an ${type}` : `a ${type}`
}

function missingDetail({ params: { alternatives = [] } }: ErrorObject): string {
  return alternatives.length === 0 ? 'is missing' : `is missing; send it or ${listedValues(alternatives, ' or ')}`
}

function constantText(value: unknown): string {
  const text = schemaValueText(value)
  return typeof value === 'string' ? JSON.stringify(text) : text
}

type UnknownIn = { properties?: object; propertyNames?: { description?: string } }

function unknownDetail(error: ErrorObject): string {
  const { properties, propertyNames } = (error.parentSchema ?? {}) as UnknownIn
  if (propertyNames?.description !== undefined) return `is not a valid property name: use ${propertyNames.description}`
  const allowed = Object.keys(properties ?? {})
  return allowed.length === 0
    ? 'is unknown; this object has no members'
    : `is unknown; allowed: ${listedValues(allowed)}`
}

function patternDetail(error: ErrorObject): string {
  const text = patternError(String(error.schema))
  if (text !== undefined) return text
  const { description } = (error.parentSchema ?? {}) as { description?: string }
  return description === undefined ? `must match ${error.schema}` : `must be: ${description}`
}

function escaped(name: unknown): string {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Creates a function that validates a response against its contract. Every test uses it. */
export function answerValidator(contract: Contract, name: string, operation: Operation) {
  const schemas = Object.entries(operation.answers).map(([status, answer]) => {
    const validator = isEmpty(answer) || isMedia(answer) ? undefined : onFirstUse(strict, answer)
    return [Number(status), validator] as const
  })
  const byStatus = new Map(schemas)
  const { method, tagged = false } = operation
  return ({ status, headers }: Pick<Answer, 'status' | 'headers'>, body: unknown): void => {
    if (!byStatus.has(status))
      throw new Error(`${contract.name}.${name} responded with ${status}, which its contract does not list`)
    if (method === 'GET' && tagged !== (headers.etag !== undefined))
      throw new Error(`${contract.name}.${name} and its contract do not agree about an ETag`)
    const run = byStatus.get(status)?.()
    if (run === undefined || run(structuredClone(body))) return
    throw new Error(`${contract.name}.${name} broke its contract: ${strict.errorsText(run.errors)}`)
  }
}
