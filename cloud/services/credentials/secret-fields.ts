import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import { secretPlaceholder } from '@millwright/api/credentials-shapes.ts'
import { type Document, isObject, mapMembers, type PlainObject } from '../../platform/plain-object.ts'
import { checkSchema, placesIn, pointerOf } from '../../platform/uploaded-schemas/check.ts'
import { LinearPattern } from '../../platform/uploaded-schemas/pattern.ts'

type Node = Readonly<Record<string, unknown>>

const choices = { one: ['if', 'then', 'else', 'not'], list: ['anyOf', 'oneOf'] } as const

/**
 * `SecretFields` decides which values are secret. A value is secret when any schema that can apply to it is marked
 * `writeOnly` or `format: password`, or when no schema describes it. In doubt, a value is secret.
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

  /** Returns the values with a placeholder instead of each secret. */
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

  /**
   * Returns all schemas that can apply to the same value as the given schemas. The result includes every alternative.
   */
  #applying(from: readonly Node[]): Node[] {
    return reached(from, (node) => [...this.#always(node), ...choicesOf(node)])
  }

  /**
   * Returns the schemas that always apply to the same value as a schema: referenced schemas and the schemas in `allOf`.
   */
  #always(node: Node): Node[] {
    return [...this.#referred(node), ...objectsIn(node.allOf)]
  }

  #referred(node: Node): Node[] {
    return ['$ref', '$dynamicRef', '$recursiveRef'].flatMap((keyword) => {
      const reference = node[keyword]
      if (typeof reference !== 'string') return []
      const fragment = reference.slice(reference.indexOf('#') + 1)
      const target = this.#byAnchor.get(fragment) ?? this.#byPointer.get(pointerOf(fragment))
      return target === undefined ? [] : [target]
    })
  }

  /** Returns the schemas of a member of an object. Returns `undefined` when no schema describes the member. */
  #ofMember(nodes: readonly Node[], name: string): Node[] | undefined {
    const own = nodes.flatMap((node) => membersOf(node, name))
    const members = [...own, ...objectsIn(nodes.map((node) => this.#ofUnevaluated(node, name)))]
    return members.length > 0 ? members : undefined
  }

  /**
   * Returns the `unevaluatedProperties` schema of a schema if it applies to a member, or else `undefined`. It applies
   * if none of the schemas that always apply describes the member. Alternatives are ignored, because they may not
   * apply.
   */
  #ofUnevaluated(node: Node, name: string): unknown {
    const sure = reached([node], (one) => this.#always(one))
    return sure.some((one) => membersOf(one, name).length > 0) ? undefined : node.unevaluatedProperties
  }
}

function reached(from: readonly Node[], next: (node: Node) => Node[]): Node[] {
  const visited = new Set<Node>()
  const pending = [...from]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (visited.has(node)) continue
    visited.add(node)
    pending.push(...next(node))
  }
  return [...visited]
}

/** Returns the schemas that may apply to the same value as a schema: alternatives, conditions and dependent schemas. */
function choicesOf(node: Node): Node[] {
  const named = [node.dependentSchemas, node.dependencies].filter(isObject).flatMap((one) => Object.values(one))
  const listed = choices.list.flatMap((keyword) => objectsIn(node[keyword]))
  return [...listed, ...objectsIn([...choices.one.map((keyword) => node[keyword]), ...named])]
}

function membersOf({ properties, patternProperties, additionalProperties }: Node, name: string): Node[] {
  const named = isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : []
  const matching = isObject(patternProperties)
    ? Object.entries(patternProperties).flatMap(([pattern, node]) =>
        new LinearPattern(pattern).test(name) ? [node] : [],
      )
    : []
  const members = [...named, ...matching]
  return members.length > 0 ? members.map((node) => (isObject(node) ? node : {})) : objectsIn([additionalProperties])
}

/**
 * Returns the schemas of a list entry. Returns `undefined` when no schema describes the entry. `contains` does not
 * define which entries it describes, so it can make an entry secret, but it cannot make an entry visible.
 */
function ofEntry(nodes: readonly Node[], index: number): Node[] | undefined {
  const entrySchemas = nodes.flatMap((node) => {
    const { prefixItems, items, additionalItems, unevaluatedItems } = node
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
    const own = index < first.length ? first[index] : Array.isArray(items) ? additionalItems : items
    return objectsIn([own === true ? {} : own, own === undefined ? unevaluatedItems : undefined])
  })
  return entrySchemas.length > 0 ? [...entrySchemas, ...objectsIn(nodes.map(({ contains }) => contains))] : undefined
}

function isSecret({ writeOnly, format }: Node): boolean {
  return writeOnly === true || format === 'password'
}

function objectsIn(list: unknown): Node[] {
  return Array.isArray(list) ? list.filter(isObject) : []
}
