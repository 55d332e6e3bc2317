import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import { isObject } from '../plain-object.ts'
import { type BaseSchema, placesIn, pointerOf } from './check.ts'

/**
 * Counts how often a schema is evaluated along one path through a document, with every reference expanded. Validation
 * takes at most this count times the number of values of the document, so the count limits the cost of an uploaded
 * schema. For example, twenty nested `allOf` with two equal references each have 40 subschemas and an expanded size of a
 * million.
 *
 * The counts of subschemas that apply to the same value (`allOf`, `$ref`, …) are added. The counts of subschemas that
 * may apply to the same member (`additionalProperties`, `items`, …) are added too. Of named properties only the most
 * expensive one counts, because they apply to different values. Each step into a member uses one level of the document,
 * so recursion ends at the maximum depth. A reference to the base schema counts as the number of its subschemas, because
 * the product defines that schema.
 */
export function expandedSize(schema: JsonSchema, { depth, ...options }: ExpansionOptions): number {
  const { limit } = options
  try {
    return new Expansion(schema, options).size(depth)
  } catch (error) {
    if (error instanceof EndlessReference) return Number.POSITIVE_INFINITY
    if (error instanceof LimitExceeded) return limit + 1
    throw error
  }
}

type ExpansionOptions = {
  base?: BaseSchema | undefined
  /** The maximum number of levels of a document. */
  depth: number
  /** The count stops at this limit. A larger size is returned as `limit + 1`, an infinite size as `Infinity`. */
  limit: number
  /** The weight of one evaluation of a subschema, without its own subschemas. The default is 1. */
  weigh?: (node: Node) => number
}

class LimitExceeded extends Error {}

/** `EndlessReference` means that the schema applies itself to the same value without end. */
class EndlessReference extends Error {}

/** The maximum length of a chain of references. Each reference in a chain uses space on the stack. */
const longestChain = 1_000

const keywords = {
  sameValue: {
    one: ['else', 'if', 'not', 'then'],
    list: ['allOf', 'anyOf', 'oneOf'],
    byName: ['dependencies', 'dependentSchemas'],
  },
  added: [
    'additionalItems',
    'additionalProperties',
    'contains',
    'items',
    'propertyNames',
    'unevaluatedItems',
    'unevaluatedProperties',
  ],
} as const

type Node = Record<string, unknown>

class Expansion {
  readonly #limit: number
  readonly #weigh: (node: Node) => number
  readonly #root: Node
  readonly #targets = new Map<string, Node>()
  readonly #base: { id: string; size: number } | undefined
  /** The expanded size of each node, by the number of remaining levels. A size is undefined while it is computed. */
  readonly #sizes = new Map<Node, (number | undefined)[]>()
  #chain = 0

  constructor(schema: JsonSchema, { base, limit, weigh = () => 1 }: Omit<ExpansionOptions, 'depth'>) {
    this.#limit = limit
    this.#weigh = weigh
    this.#root = schema as Node
    if (base !== undefined) this.#base = { id: base.id, size: placesIn(base.schema as Node).length }
    for (const { schema: node, pointer } of placesIn(this.#root)) {
      this.#targets.set(pointer, node)
      for (const anchor of [node.$anchor, node.$dynamicAnchor])
        if (typeof anchor === 'string') this.#targets.set(anchor, node)
    }
  }

  size(depth: number): number {
    return this.#sizeOf(this.#root, depth)
  }

  #sizeOf(node: Node, levels: number): number {
    const sizes = this.#sizes.get(node) ?? []
    this.#sizes.set(node, sizes)
    if (levels in sizes) {
      const size = sizes[levels]
      if (size === undefined) throw new EndlessReference()
      return size
    }
    sizes[levels] = undefined
    if (++this.#chain > longestChain) throw new LimitExceeded()
    const ofMembers = levels === 0 ? 0 : this.#ofMembers(node, levels - 1)
    const size = this.#weigh(node) + this.#ofSameValue(node, levels) + ofMembers
    this.#chain--
    if (size > this.#limit) throw new LimitExceeded()
    sizes[levels] = size
    return size
  }

  #ofSameValue(node: Node, levels: number): number {
    const { one, list, byName } = keywords.sameValue
    const nested = [
      ...one.map((keyword) => node[keyword]),
      ...list.flatMap((keyword) => node[keyword]),
      ...byName.flatMap((keyword) => membersOf(node[keyword])),
    ]
    const references = ['$ref', '$dynamicRef', '$recursiveRef'].map((keyword) => node[keyword])
    return references.reduce<number>(
      (sum, reference) => sum + this.#ofReference(reference, levels),
      this.#sum(nested, levels),
    )
  }

  #ofMembers(node: Node, levels: number): number {
    const positions = [node.prefixItems, node.items].flatMap((value) => (Array.isArray(value) ? value : []))
    return (
      this.#largest(membersOf(node.properties), levels) +
      this.#largest(positions, levels) +
      this.#sum(membersOf(node.patternProperties), levels) +
      this.#sum(
        keywords.added.map((keyword) => node[keyword]),
        levels,
      )
    )
  }

  #ofReference(reference: unknown, levels: number): number {
    if (typeof reference !== 'string') return 0
    const [id = '', ...parts] = reference.split('#')
    const fragment = parts.join('#')
    if (id !== '') return id === this.#base?.id ? this.#base.size : 0
    const isPointer = fragment === '' || fragment.startsWith('/')
    return this.#sum([this.#targets.get(isPointer ? pointerOf(fragment) : fragment)], levels)
  }

  #sum(nodes: readonly unknown[], levels: number): number {
    let sum = 0
    for (const node of nodes) if (isObject(node)) sum += this.#sizeOf(node as Node, levels)
    return sum
  }

  #largest(nodes: readonly unknown[], levels: number): number {
    let largest = 0
    for (const node of nodes) if (isObject(node)) largest = Math.max(largest, this.#sizeOf(node as Node, levels))
    return largest
  }
}

function membersOf(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : []
}
