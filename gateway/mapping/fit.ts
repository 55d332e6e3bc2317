import { assetSchema } from '@millwright/api/asset-schema.ts'
import { type Document, documentOf, isDocument } from './document.ts'

/**
 * What of a document the inventory takes. Values are brought to the type that the schema wants; what does not fit is left
 * out and told by its JSON pointer, so that one bad field does not cost the whole device.
 *
 * The schema is made into functions once: each looks at one kind of value and nothing else.
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

/** Where something stands, and the list of what was wrong so far. */
type At = { path: (string | number)[]; faults: Fault[] }

/** The value as the schema wants it; undefined when it does not fit, or says nothing. */
type Fit = (value: unknown, at: At) => unknown

type Class = {
  members: ReadonlyMap<string, Fit>
  required: readonly string[]
  /** Where several classes may stand: the member that tells which one it is, and which there are. */
  teller: { name: string; classes: readonly string[] } | undefined
}

/** Of a class, the members that fit. Whether what it requires is there is for the caller to see. */
export function fitMembers(document: Document, className: string, faults: Fault[]): Document {
  return membersOf(document, classNamed(className), { path: [], faults })
}

/** Whether a class has a member of that name. */
export function hasMember(className: string, name: string): boolean {
  return classNamed(className).members.has(name)
}

const definitions = assetSchema.$defs as unknown as Readonly<Record<string, Schema | undefined>>
const classes = new Map<string, Class>()

function classNamed(name: string): Class {
  const known = classes.get(name)
  if (known !== undefined) return known
  const { properties = {}, required = [], allOf } = definitions[name] ?? {}
  const members = new Map(Object.entries(properties).map(([member, schema]) => [member, fitterOf(schema)]))
  const [teller] = allOf === undefined ? [] : Object.entries(properties)
  const made = { members, required, teller: teller && { name: teller[0], classes: teller[1].enum ?? [] } }
  classes.set(name, made)
  return made
}

/** Classes refer to each other in circles: one is looked up when it is met. */
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
    const given: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (given.length > limit) refuse(at, `has more than ${limit} entries`)
    const fitted: unknown[] = []
    for (let index = 0; index < given.length && index < limit; index++) {
      const entry = below(at, index, () => fit(given[index], at))
      if (entry !== undefined) fitted.push(entry)
    }
    return fitted.length === 0 ? undefined : fitted
  }
}

function fitObject(value: unknown, definition: Class, at: At): Document | undefined {
  const document = Array.isArray(value) && value.every(isDocument) ? documentOf(value) : value
  if (!isDocument(document)) return refuse(at, 'must be an object')
  const own = classOf(document, definition, at)
  if (own === undefined) return undefined
  const fitted = membersOf(document, own, at)
  const missing = own.required.find((name) => !(name in fitted))
  if (missing === undefined) return Object.keys(fitted).length === 0 ? undefined : fitted
  return below(at, missing, () => {
    const pointer = pointerTo(at.path)
    // What is missing because it did not fit has been told.
    const isTold = at.faults.some((fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`))
    return isTold ? undefined : refuse(at, 'is missing')
  })
}

/** The class that an object says it is, where several may stand. */
function classOf(document: Document, definition: Class, at: At): Class | undefined {
  const { teller } = definition
  if (teller === undefined) return definition
  const told = document[teller.name]
  if (typeof told === 'string' && teller.classes.includes(told)) return classNamed(told)
  return below(at, teller.name, () => refuse(at, `must be one of ${teller.classes.join(', ')}`))
}

function membersOf(document: Document, { members }: Class, at: At): Document {
  const fitted: Document = {}
  for (const name of Object.keys(document)) {
    const fit = members.get(name) ?? notKnown
    const member = below(at, name, () => fit(document[name], at))
    if (member !== undefined) fitted[name] = member
  }
  return fitted
}

function below<Result>(at: At, step: string | number, work: () => Result): Result {
  at.path.push(step)
  const result = work()
  at.path.pop()
  return result
}

const notKnown: Fit = (_, at) => refuse(at, 'is not known here')

function refuse({ path, faults }: At, detail: string): undefined {
  faults.push({ pointer: pointerTo(path), detail })
  return undefined
}

function pointerTo(path: At['path']): string {
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

/** Links have no word for yes and no but text. */
function fitBoolean(value: unknown, at: At): boolean | undefined {
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

function textFitter(schema: Schema): (text: string, at: At) => string | undefined {
  const { const: only, enum: names, description, maxLength = Number.POSITIVE_INFINITY } = schema
  const pattern = schema.pattern === undefined ? undefined : new RegExp(schema.pattern, 'u')
  return (text, at) => {
    // Only where the schema says so is an empty text a value.
    if (text === '') return schema.minLength === 0 ? text : undefined
    if (only !== undefined && text !== only) return refuse(at, `must be ${only}`)
    if (names?.includes(text) === false) return refuse(at, `must be one of ${names.join(', ')}`)
    if (pattern?.test(text) === false) return refuse(at, `must be: ${description ?? schema.pattern}`)
    if (!isLonger(text, maxLength)) return text
    if (pattern !== undefined) return refuse(at, `has more than ${maxLength} characters`)
    refuse(at, `was cut to ${maxLength} characters`)
    return [...text].slice(0, maxLength).join('').trim()
  }
}

/** Characters as JSON Schema counts them: an emoji is one. */
function isLonger(text: string, characters: number): boolean {
  return text.length > characters && [...text].length > characters
}
