import { assetSchema } from '@millwright/api/asset-schema.ts'
import { type Document, documentOf, isDocument } from './document.ts'

/**
 * This file fits a document to the asset schema. Values are converted to the type that the schema requires. A value
 * that does not fit is left out and reported with its JSON pointer, so that one invalid field does not reject the whole
 * device.
 *
 * The schema is compiled once to functions: one function for each kind of value.
 */

export type Fault = { pointer: string; detail: string }

type Schema = {
  type?: string | string[]
  $ref?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  allOf?: unknown[]
  const?: string
  enum?: readonly string[]
  pattern?: string
  description?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  maxItems?: number
}

/** `Position` contains the path of the current value, and all faults that were found so far. */
type Position = { path: (string | number)[]; faults: Fault[] }

/** `Fit` converts a value to the type of the schema. It returns undefined when the value does not fit or is empty. */
type Fit = (value: unknown, at: Position) => unknown

type Class = {
  members: ReadonlyMap<string, Fit>
  required: readonly string[]
  /** The member that selects one of several allowed classes, and the names of these classes. */
  discriminator: { name: string; classes: readonly string[] } | undefined
}

/**
 * Returns the members of a document that fit a class. Missing required members are not reported; the caller checks
 * them.
 */
export function fitMembers(document: Document, className: string, faults: Fault[]): Document {
  return membersOf(document, classNamed(className), { path: [], faults })
}

/** Returns true when a class has a member with this name. */
export function hasMember(className: string, name: string): boolean {
  return classNamed(className).members.has(name)
}

const definitions = assetSchema.$defs as unknown as Readonly<Record<string, Schema | undefined>>
const classes = new Map<string, Class>()

function classNamed(name: string): Class {
  const cached = classes.get(name)
  if (cached !== undefined) return cached
  const { properties = {}, required = [], allOf } = definitions[name] ?? {}
  const members = new Map(Object.entries(properties).map(([member, schema]) => [member, fitterOf(schema)]))
  const [discriminator] = allOf === undefined ? [] : Object.entries(properties)
  const made = {
    members,
    required,
    discriminator: discriminator && { name: discriminator[0], classes: discriminator[1].enum ?? [] },
  }
  classes.set(name, made)
  return made
}

/**
 * Compiles a schema to a function. A referenced class is looked up only when a value is fitted, because classes have
 * circular references.
 */
function fitterOf(schema: Schema): Fit {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace('#/$defs/', '')
    return (value, at) => (isNothing(value) ? undefined : fitObject(value, classNamed(name), at))
  }
  if (schema.items !== undefined) return listFitter(fitterOf(schema.items), schema.maxItems)
  return scalarFitter(schema)
}

function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

function listFitter(fit: Fit, limit = Number.POSITIVE_INFINITY): Fit {
  return (value, at) => {
    if (isNothing(value)) return undefined
    const entries: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (entries.length > limit) refuse(at, `has more than ${limit} entries`)
    const fitted: unknown[] = []
    for (let index = 0; index < entries.length && index < limit; index++) {
      const entry = below(at, index, () => fit(entries[index], at))
      if (entry !== undefined) fitted.push(entry)
    }
    return fitted.length === 0 ? undefined : fitted
  }
}

function fitObject(value: unknown, definition: Class, at: Position): Document | undefined {
  const document = Array.isArray(value) && value.every(isDocument) ? documentOf(value) : value
  if (!isDocument(document)) return refuse(at, 'must be an object')
  const own = classOf(document, definition, at)
  if (own === undefined) return undefined
  const fitted = membersOf(document, own, at)
  const missing = own.required.find((name) => !(name in fitted))
  if (missing === undefined) return Object.keys(fitted).length === 0 ? undefined : fitted
  return below(at, missing, () => {
    const pointer = pointerTo(at.path)
    // The member is not reported as missing if it exists but did not fit, because that fault has already been reported.
    const isReported = at.faults.some((fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`))
    return isReported ? undefined : refuse(at, 'is missing')
  })
}

/** Returns the class of an object. If several classes are allowed, the discriminator selects the class. */
function classOf(document: Document, definition: Class, at: Position): Class | undefined {
  const { discriminator } = definition
  if (discriminator === undefined) return definition
  const className = document[discriminator.name]
  if (typeof className === 'string' && discriminator.classes.includes(className)) return classNamed(className)
  return below(at, discriminator.name, () => refuse(at, `must be one of ${discriminator.classes.join(', ')}`))
}

function membersOf(document: Document, { members }: Class, at: Position): Document {
  const fitted: Document = {}
  for (const name of Object.keys(document)) {
    const fit = members.get(name) ?? notKnown
    const member = below(at, name, () => fit(document[name], at))
    if (member !== undefined) fitted[name] = member
  }
  return fitted
}

function below<Result>(at: Position, step: string | number, work: () => Result): Result {
  at.path.push(step)
  const result = work()
  at.path.pop()
  return result
}

const notKnown: Fit = (_, at) => refuse(at, 'is not defined here')

function refuse({ path, faults }: Position, detail: string): undefined {
  faults.push({ pointer: pointerTo(path), detail })
  return undefined
}

function pointerTo(path: Position['path']): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function scalarFitter(schema: Schema): Fit {
  const type = [schema.type ?? 'string'].flat()[0]
  const fitText = textFitter(schema)
  const fit: Fit =
    type === 'boolean'
      ? fitBoolean
      : type === 'integer' || type === 'number'
        ? numberFitter(schema, type)
        : (value, at) => fitText(String(value).trim(), at)
  return (value, at) => {
    if (isNothing(value)) return undefined
    return typeof value === 'object' ? refuse(at, 'must be a single value') : fit(value, at)
  }
}

/** Converts text to a boolean, because links send booleans as text. */
function fitBoolean(value: unknown, at: Position): boolean | undefined {
  const text = String(value).trim().toLowerCase()
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  return text === '' ? undefined : refuse(at, 'must be true or false')
}

function numberFitter(schema: Schema, type: 'integer' | 'number'): Fit {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  return (value, at) => {
    const text = String(value).trim()
    if (text === '') return undefined
    const number = Number(text)
    if (typeof value === 'boolean' || !Number.isFinite(number)) return refuse(at, 'must be a number')
    if (type === 'integer' && !Number.isInteger(number)) return refuse(at, 'must be a whole number')
    if (number < minimum || number > maximum) return refuse(at, `must be from ${minimum} to ${maximum}`)
    return number
  }
}

function textFitter(schema: Schema): (text: string, at: Position) => string | undefined {
  const { const: only, enum: names, description, maxLength = Number.POSITIVE_INFINITY } = schema
  const pattern = schema.pattern === undefined ? undefined : new RegExp(schema.pattern, 'u')
  return (text, at) => {
    // Empty text counts as a value only if the schema allows it.
    if (text === '') return schema.minLength === 0 ? text : undefined
    if (only !== undefined && text !== only) return refuse(at, `must be ${only}`)
    if (names?.includes(text) === false) return refuse(at, `must be one of ${names.join(', ')}`)
    if (pattern?.test(text) === false) return refuse(at, `must be: ${description ?? schema.pattern}`)
    if (!isLonger(text, maxLength)) return text
    if (pattern !== undefined) return refuse(at, `has more than ${maxLength} characters`)
    refuse(at, `was truncated to ${maxLength} characters`)
    return [...text].slice(0, maxLength).join('').trim()
  }
}

/** Returns true when a text has more characters than the limit. JSON Schema counts code points as characters. */
function isLonger(text: string, characters: number): boolean {
  return text.length > characters && [...text].length > characters
}
