import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import { secretPlaceholder } from '@millwright/api/credentials-shapes.ts'
import { type Document, isObject, mapMembers, type PlainObject } from '../../platform/plain-object.ts'
import { checkSchema, placesIn } from '../../platform/uploaded-schemas/check.ts'
import { LinearPattern } from '../../platform/uploaded-schemas/pattern.ts'

type Node = Readonly<Record<string, unknown>>

const besides = { one: ['if', 'then', 'else', 'not'], list: ['allOf', 'anyOf', 'oneOf'] } as const

/**
 * Which values are secret, by their schema: what any part of the schema that could apply there marks `writeOnly` or
 * `format: password`, and whatever it does not describe. When in doubt, it is secret.
 */
export class SecretFields {
  readonly #root: Node
  readonly #byPointer: ReadonlyMap<string, Node>
  readonly #byAnchor: ReadonlyMap<unknown, Node>

  constructor(schema: JsonSchema) {
    this.#root = checkSchema(schema)
    const places = placesIn(this.#root as Record<string, unknown>)
    this.#byPointer = new Map(places.map((place) => [place.pointer, place.schema]))
    this.#byAnchor = new Map(
      places.flatMap(({ schema: { $anchor, $dynamicAnchor }, schema: node }) => [
        [$anchor, node] as const,
        [$dynamicAnchor, node] as const,
      ]),
    )
  }

  /** The values as people may see them. */
  shown(values: PlainObject): Document {
    const nodes = this.#applying([this.#root])
    if (nodes.some(isSecret)) return mapMembers(values, () => secretPlaceholder)
    return mapMembers(values, (member, name) => this.#mask(member, this.#ofMember(nodes, name)))
  }

  #mask(value: unknown, described: Node[] | undefined): unknown {
    if (described === undefined) return secretPlaceholder
    const nodes = this.#applying(described)
    if (nodes.some(isSecret)) return secretPlaceholder
    if (Array.isArray(value)) return value.map((entry, index) => this.#mask(entry, ofEntry(nodes, index)))
    if (isObject(value)) return mapMembers(value, (member, name) => this.#mask(member, this.#ofMember(nodes, name)))
    return value
  }

  /** All schemas that could apply where these do, whichever way a choice among them goes. */
  #applying(from: readonly Node[]): Node[] {
    const found = new Set<Node>()
    const pending = [...from]
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      if (found.has(node)) continue
      found.add(node)
      pending.push(...this.#referred(node), ...objectsIn(besides.one.map((keyword) => (node as Node)[keyword])))
      for (const keyword of besides.list) pending.push(...objectsIn(node[keyword]))
      for (const keyword of ['dependentSchemas', 'dependencies'])
        if (isObject(node[keyword])) pending.push(...objectsIn(Object.values(node[keyword])))
    }
    return [...found]
  }

  #referred(node: Node): Node[] {
    return ['$ref', '$dynamicRef', '$recursiveRef'].flatMap((keyword) => {
      const reference = node[keyword]
      if (typeof reference !== 'string') return []
      const fragment = reference.slice(reference.indexOf('#') + 1)
      const target = this.#byAnchor.get(fragment) ?? this.#byPointer.get(decoded(fragment))
      return target === undefined ? [] : [target]
    })
  }

  /** What describes a member; undefined when nothing does. */
  #ofMember(nodes: readonly Node[], name: string): Node[] | undefined {
    const own = nodes.flatMap((node) => membersOf(node, name))
    const found = own.length > 0 ? own : objectsIn(nodes.map(({ unevaluatedProperties }) => unevaluatedProperties))
    return found.length > 0 ? found : undefined
  }
}

function membersOf({ properties, patternProperties, additionalProperties }: Node, name: string): Node[] {
  const named = isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : []
  const matching = isObject(patternProperties)
    ? Object.entries(patternProperties).flatMap(([pattern, node]) =>
        new LinearPattern(pattern).test(name) ? [node] : [],
      )
    : []
  const found = [...named, ...matching]
  return found.length > 0 ? found.map((node) => (isObject(node) ? node : {})) : objectsIn([additionalProperties])
}

function ofEntry(nodes: readonly Node[], index: number): Node[] | undefined {
  const found = nodes.flatMap((node) => {
    const { prefixItems, items, additionalItems, contains, unevaluatedItems } = node
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
    const own = index < first.length ? first[index] : Array.isArray(items) ? additionalItems : items
    return objectsIn([own === true ? {} : own, contains, own === undefined ? unevaluatedItems : undefined])
  })
  return found.length > 0 ? found : undefined
}

function isSecret({ writeOnly, format }: Node): boolean {
  return writeOnly === true || format === 'password'
}

function objectsIn(list: unknown): Node[] {
  return Array.isArray(list) ? list.filter(isObject) : []
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
