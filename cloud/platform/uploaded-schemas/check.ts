import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import { Problem } from '@millwright/api/problem.ts'
import { escapedPointer, isObject, outOfBounds } from '../plain-object.ts'
import { LinearPattern, PatternError } from './pattern.ts'

/**
 * Limits for the schemas of tenants. `expandedSize` limits the number of subschemas after references are expanded, for
 * documents with `documentDepth` levels.
 */
export const schemaLimits = {
  bytes: 256 * 1024,
  depth: 32,
  values: 50_000,
  expandedSize: 250_000,
  documentDepth: 17,
} as const

const drafts: Readonly<Record<string, '2019-09' | '2020-12'>> = {
  'https://json-schema.org/draft/2019-09/schema': '2019-09',
  'https://json-schema.org/draft/2020-12/schema': '2020-12',
}

/** A schema of the product that uploaded schemas can refer to. */
export type BaseSchema = {
  /** The name of the base schema in the references of a compiled schema. */
  id: string
  schema: JsonSchema
  /** Matches other ids of the same schema. */
  urls: RegExp
}

export function draftOf(schema: JsonSchema): '2019-09' | '2020-12' {
  const { $schema: named = 'https://json-schema.org/draft/2020-12/schema' } = schema
  const draft = typeof named === 'string' ? drafts[named.replace(/#$/, '')] : undefined
  if (draft === undefined) throw invalidSchema('/$schema', `must be one of ${Object.keys(drafts).join(', ')}`)
  return draft
}

/**
 * Checks an uploaded schema. The schema is not trusted: it may be huge, refer to the network, or be designed to take
 * very long. Returns the schema to compile, in which each reference points to a part of the schema or to the base
 * schema. Throws `invalid_schema` with the reason if the schema is refused. The compiler checks later whether it is a
 * valid JSON Schema.
 */
export function checkSchema(schema: JsonSchema, base?: BaseSchema): JsonSchema {
  const large = outOfBounds(schema, {
    depth: schemaLimits.depth,
    entries: schemaLimits.values,
    values: schemaLimits.values,
  })
  if (large !== undefined) throw invalidSchema(large.pointer, large.detail)
  if (Buffer.byteLength(JSON.stringify(schema)) > schemaLimits.bytes) {
    throw invalidSchema('', `is larger than ${schemaLimits.bytes / 1024} KiB`)
  }
  draftOf(schema)
  const { $id: own, ...rest } = structuredClone(schema)
  const places = placesIn(rest)
  for (const place of places) checkPlace(place)
  const anchors = new Set(places.flatMap(({ schema: { $anchor, $dynamicAnchor } }) => [$anchor, $dynamicAnchor]))
  const schemaPlaces = { own, anchors, base, pointers: new Set(places.map(({ pointer }) => pointer)) }
  for (const place of places) keepInside(place, schemaPlaces)
  return rest
}

/** A subschema and its position. */
export type Place = { schema: Record<string, unknown>; pointer: string }

const holdsSchemas = {
  one: [
    'additionalItems',
    'additionalProperties',
    'contains',
    'contentSchema',
    'else',
    'if',
    'items',
    'not',
    'propertyNames',
    'then',
    'unevaluatedItems',
    'unevaluatedProperties',
  ],
  list: ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'],
  byName: ['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'],
} as const

/**
 * Returns all subschemas, starting with the schema itself. Other values, such as an example or a default, are data and
 * are not checked.
 */
export function placesIn(schema: Record<string, unknown>, pointer = ''): Place[] {
  const at = (value: unknown, ...path: string[]): Place[] =>
    isObject(value) ? placesIn(value, [pointer, ...path.map(escapedPointer)].join('/')) : []
  return [
    { schema, pointer },
    ...holdsSchemas.one.flatMap((keyword) => at(schema[keyword], keyword)),
    ...holdsSchemas.list.flatMap((keyword) => {
      const list = schema[keyword]
      return Array.isArray(list) ? list.flatMap((value, index) => at(value, keyword, String(index))) : []
    }),
    ...holdsSchemas.byName.flatMap((keyword) => {
      const named = schema[keyword]
      return isObject(named) ? Object.entries(named).flatMap(([name, value]) => at(value, keyword, name)) : []
    }),
  ]
}

function checkPlace({ schema, pointer }: Place): void {
  // With `$async`, the validator returns a promise, which would count as valid.
  if ('$async' in schema) throw invalidSchema(`${pointer}/$async`, 'is not a keyword of JSON Schema')
  if ('$id' in schema) throw invalidSchema(`${pointer}/$id`, 'is only allowed at the top level')
  if ('$schema' in schema && pointer !== '')
    throw invalidSchema(`${pointer}/$schema`, 'is only allowed at the top level')
  if (typeof schema.pattern === 'string') checkPattern(schema.pattern, `${pointer}/pattern`)
  if (!isObject(schema.patternProperties)) return
  for (const pattern of Object.keys(schema.patternProperties)) {
    checkPattern(pattern, `${pointer}/patternProperties/${escapedPointer(pattern)}`)
  }
}

function checkPattern(pattern: string, pointer: string): void {
  try {
    new LinearPattern(pattern)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    throw invalidSchema(pointer, error.message)
  }
}

type SchemaPlaces = {
  own: unknown
  base: BaseSchema | undefined
  anchors: ReadonlySet<unknown>
  pointers: ReadonlySet<string>
}

/**
 * Replaces references to the base schema with references to its id. All other references must point to a schema inside
 * the uploaded schema.
 */
function keepInside({ schema, pointer }: Place, schemaPlaces: SchemaPlaces): void {
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    if (!(keyword in schema)) continue
    const reference = schema[keyword]
    if (typeof reference !== 'string') throw invalidSchema(`${pointer}/${keyword}`, 'must be text')
    schema[keyword] = keptReference(reference, `${pointer}/${keyword}`, schemaPlaces)
  }
}

function keptReference(reference: string, pointer: string, { own, base, anchors, pointers }: SchemaPlaces): string {
  const [address = '', ...parts] = reference.split('#')
  const fragment = parts.join('#')
  if (address !== '' && base !== undefined && (address === base.id || base.urls.test(address))) {
    if (fragment !== '' && !hasDefinition(base, fragment)) {
      throw invalidSchema(pointer, `refers to ${fragment}, which the base schema does not have`)
    }
    return `${base.id}#${fragment}`
  }
  if (address !== '' && address !== String(own).replace(/#$/, '')) {
    const or = base === undefined ? '' : ' or of the base schema'
    throw invalidSchema(pointer, `must refer to a part of this schema (#…)${or}: other schemas are not fetched`)
  }
  if (fragment === '' || anchors.has(fragment)) return `#${fragment}`
  const target = pointerOf(fragment)
  if (!pointers.has(target)) throw invalidSchema(pointer, `refers to #${fragment}, which is not a schema`)
  return `#${target.split('/').map(encodeURIComponent).join('/')}`
}

function hasDefinition({ schema }: BaseSchema, pointer: string): boolean {
  return pointer.startsWith('/$defs/') && Object.hasOwn(schema.$defs as object, pointer.slice('/$defs/'.length))
}

/**
 * Returns the JSON pointer of a fragment, in the form of `placesIn`. Like the compiler, it first splits the fragment
 * and then decodes each part once. So `a%2541` is the name `a%41`, and `a%2Fb` is the name `a/b`.
 */
export function pointerOf(fragment: string): string {
  return fragment
    .split('/')
    .map((part) => escapedPointer(decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')))
    .join('/')
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export function invalidSchema(pointer: string, detail: string): Problem {
  const errors = [{ pointer: `/data/schema${pointer}`, code: 'invalid_schema', detail }]
  return new Problem('invalid_schema', `/data/schema${pointer} ${detail}`, { errors })
}
