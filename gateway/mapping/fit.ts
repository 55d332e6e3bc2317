import { assetSchema, type JsonSchema } from '@millwright/api/asset-schema.ts'
import { type Document, documentOf, isDocument } from './document.ts'

/**
 * What of a document the inventory takes. Values are brought to the type that the schema wants; what does not fit is left
 * out and told by its JSON pointer, so that one bad field does not cost the whole device.
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
  minItems?: number
  maxItems?: number
}

/** Where something stands, and the list of what was wrong so far. */
type At = { pointer: string; faults: Fault[] }

const definitions = assetSchema.$defs as Record<string, JsonSchema & Schema>

/** Of a class, the members that fit. Whether what it requires is there is for the caller to see. */
export function fitMembers(document: Document, className: string, at: At): Document {
  return membersOf(document, definitionOf(className), at)
}

/** Whether a class has a member of that name. */
export function hasMember(className: string, name: string): boolean {
  return Object.hasOwn(definitionOf(className).properties ?? {}, name)
}

function definitionOf(name: string): Schema {
  return definitions[name] ?? {}
}

function fit(value: unknown, schema: Schema, at: At): unknown {
  if (value === null || value === undefined) return undefined
  if (schema.$ref !== undefined) return fitObject(value, definitionOf(schema.$ref.replace('#/$defs/', '')), at)
  if (schema.items !== undefined) return fitList(value, schema, at)
  return fitScalar(value, schema, at)
}

function fitList(value: unknown, schema: Schema, at: At): unknown[] | undefined {
  const given = Array.isArray(value) ? value : [value]
  const limit = schema.maxItems ?? Number.POSITIVE_INFINITY
  if (given.length > limit) at.faults.push({ pointer: at.pointer, detail: `has more than ${limit} entries` })
  const fitted = given
    .slice(0, limit)
    .map((entry, index) => fit(entry, schema.items ?? {}, { ...at, pointer: `${at.pointer}/${index}` }))
    .filter((entry) => entry !== undefined)
  return fitted.length === 0 ? undefined : fitted
}

function fitObject(value: unknown, definition: Schema, at: At): Document | undefined {
  const document = Array.isArray(value) && value.every(isDocument) ? documentOf(value) : value
  if (!isDocument(document)) return refuse(at, 'must be an object')
  const own = classOf(document, definition, at)
  if (own === undefined) return undefined
  const fitted = membersOf(document, own, at)
  const missing = own.required?.find((name) => !(name in fitted))
  if (missing !== undefined) {
    const pointer = `${at.pointer}/${missing}`
    // What is missing because it did not fit has been told.
    const isTold = at.faults.some((fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`))
    return isTold ? undefined : refuse({ ...at, pointer }, 'is missing')
  }
  return Object.keys(fitted).length === 0 ? undefined : fitted
}

/** The class that an object says it is, where several may stand. */
function classOf(document: Document, definition: Schema, at: At): Schema | undefined {
  if (definition.allOf === undefined) return definition
  const [teller = '', { enum: names = [] } = {}] = Object.entries(definition.properties ?? {})[0] ?? []
  const told = document[teller]
  if (typeof told === 'string' && names.includes(told)) return definitionOf(told)
  return refuse({ ...at, pointer: `${at.pointer}/${teller}` }, `must be one of ${names.join(', ')}`)
}

function membersOf(document: Document, { properties = {} }: Schema, at: At): Document {
  const fitted: Document = {}
  for (const [name, value] of Object.entries(document)) {
    const pointer = `${at.pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (schema === undefined) refuse({ ...at, pointer }, 'is not known here')
    else {
      const member = fit(value, schema, { ...at, pointer })
      if (member !== undefined) fitted[name] = member
    }
  }
  return fitted
}

function refuse(at: At, detail: string): undefined {
  at.faults.push({ pointer: at.pointer, detail })
  return undefined
}

function fitScalar(value: unknown, schema: Schema, at: At): string | number | boolean | undefined {
  if (typeof value === 'object') return refuse(at, 'must be a single value')
  const type = [schema.type ?? 'string'].flat()[0]
  if (type === 'boolean') return fitBoolean(value, at)
  if (type === 'integer' || type === 'number') return fitNumber(value, schema, at)
  return fitText(String(value).trim(), schema, at)
}

/** Links have no word for yes and no but text. */
function fitBoolean(value: unknown, at: At): boolean | undefined {
  const text = String(value).trim().toLowerCase()
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  return text === '' ? undefined : refuse(at, 'must be true or false')
}

function fitNumber(value: unknown, schema: Schema, at: At): number | undefined {
  const text = String(value).trim()
  if (text === '') return undefined
  const number = Number(text)
  const { type, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  if (typeof value === 'boolean' || !Number.isFinite(number)) return refuse(at, 'must be a number')
  if ([type].flat()[0] === 'integer' && !Number.isInteger(number)) return refuse(at, 'must be a whole number')
  if (number < minimum || number > maximum) return refuse(at, `must be from ${minimum} to ${maximum}`)
  return number
}

function fitText(text: string, schema: Schema, at: At): string | undefined {
  // Only where the schema says so is an empty text a value.
  if (text === '') return schema.minLength === 0 ? text : undefined
  if (schema.const !== undefined && text !== schema.const) return refuse(at, `must be ${schema.const}`)
  if (schema.enum?.includes(text) === false) return refuse(at, `must be one of ${schema.enum.join(', ')}`)
  if (schema.pattern !== undefined && !patternOf(schema.pattern).test(text)) {
    return refuse(at, `must be: ${schema.description ?? schema.pattern}`)
  }
  const { maxLength = Number.POSITIVE_INFINITY } = schema
  if (lengthOf(text) <= maxLength) return text
  if (schema.pattern !== undefined) return refuse(at, `has more than ${maxLength} characters`)
  at.faults.push({ pointer: at.pointer, detail: `was cut to ${maxLength} characters` })
  return [...text].slice(0, maxLength).join('').trim()
}

/** Characters as JSON Schema counts them: an emoji is one. */
function lengthOf(text: string): number {
  return [...text].length
}

const patterns = new Map<string, RegExp>()

function patternOf(source: string): RegExp {
  const known = patterns.get(source)
  if (known !== undefined) return known
  const made = new RegExp(source, 'u')
  patterns.set(source, made)
  return made
}
