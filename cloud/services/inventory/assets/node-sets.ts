import { hierarchy } from '@millwright/api/hierarchy.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { lowestId } from '../../../platform/database/id.ts'
import { arrayOf } from '../../../platform/database/rowset.ts'
import type { Context } from '../../../platform/service.ts'

/**
 * The nodes that a query selects: their number, and their ids encoded as a parameter of type `uuid[]`. `identity`
 * identifies the query and the version of the nodes.
 */
export type NodeSet = { readonly nodes: number; readonly ids: Buffer; readonly identity: string }

/**
 * The binary format of an array in the database: the length of the header, the position of the number of elements in it, and
 * the lengths of one element with its length and of this length.
 */
const arrayBytes = { header: 20, count: 12, element: 20, length: 4 } as const

/** Encodes the ids that the hierarchy service sent as a parameter of type `uuid[]`. */
function unpacked(packed: string): Pick<NodeSet, 'nodes' | 'ids'> {
  const { header, element, length } = arrayBytes
  const bytes = Buffer.from(packed, 'base64')
  const nodes = bytes.length / (element - length)
  const ids = Buffer.allocUnsafe(header + nodes * element)
  arrayOf('uuid', [lowestId]).copy(ids, 0, 0, header)
  ids.writeInt32BE(nodes, arrayBytes.count)
  for (let node = 0; node < nodes; node++) {
    const start = header + node * element
    ids.writeInt32BE(element - length, start)
    bytes.copy(ids, start + length, node * (element - length), (node + 1) * (element - length))
  }
  return { nodes, ids }
}

/** The parts of a UUID that are compared as numbers: their positions in the text, without the dashes. */
const words = [0, 8, 16, 24] as const

/**
 * Returns whether a set contains a node. The ids of a set are in order. Numbers are compared, because a comparison of buffers
 * takes many times as long.
 */
export function hasNode({ nodes, ids }: NodeSet, id: string): boolean {
  const digits = id.replaceAll('-', '')
  const wanted = words.map((start) => Number.parseInt(digits.slice(start, start + 8), 16))
  let low = 0
  let high = nodes - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const start = arrayBytes.header + middle * arrayBytes.element + arrayBytes.length
    let order = 0
    for (let word = 0; word < wanted.length && order === 0; word++)
      order = ids.readUInt32BE(start + 4 * word) - (wanted[word] ?? 0)
    if (order === 0) return true
    if (order < 0) low = middle + 1
    else high = middle - 1
  }
  return false
}

export type NodeQuery = { hierarchyNode: string | undefined; includeBelow: boolean; unassignedIn: string | undefined }

type CachedSet = NodeSet & { version: number }
type ResolvedNodes = { version: number; nodes?: string }

function invalidParameter(name: string, problem: Problem): Problem {
  const errors = [{ pointer: `/${name}`, code: problem.code, detail: problem.message }]
  return new Problem(problem.code, problem.message, { errors, cause: problem })
}

/** Adds the pointer to a query parameter to the problem of an unknown id. */
function inParameter(name: string) {
  return (error: unknown): never => {
    const isUnknown = error instanceof Problem && error.code.endsWith('_not_found')
    throw isUnknown ? invalidParameter(name, error) : error
  }
}

/** The maximum size of the cached sets. A set of 100,000 nodes has 2 MB. */
const cacheBytes = 32 * 1024 * 1024
/** Smaller sets are not cached, because they are cheap to resolve. */
const smallest = 1_000

/**
 * `NodeSets` asks the hierarchy service for the nodes that a query names, and returns the ids of these nodes. Large
 * sets are cached with the version of their hierarchy. The hierarchy service then sends the ids again only after the
 * hierarchy has changed.
 */
export class NodeSets {
  readonly #context: Context
  /** The cached sets in the order of their last use. The set that was used least recently is first. */
  readonly #sets = new Map<string, CachedSet>()
  #bytes = 0

  constructor(context: Context) {
    this.#context = context
  }

  async resolve(
    caller: Caller,
    { hierarchyNode: nodeId, includeBelow, unassignedIn: hierarchyId }: NodeQuery,
  ): Promise<{ nodes?: NodeSet; otherThanNodes?: NodeSet }> {
    if (includeBelow && nodeId === undefined)
      throw invalidParameter(
        'includeBelow',
        new Problem('invalid_query', 'includeBelow requires hierarchyNode. Send both parameters or neither of them'),
      )
    const client = this.#context.peers(hierarchy, caller)
    const nodes =
      nodeId === undefined
        ? undefined
        : await this.#set(`${caller.tenantId} ${nodeId} ${includeBelow}`, async (known) => {
            return (await client.resolveNode({ body: { data: { nodeId, includeBelow, ...known } } })).data
          }).catch(inParameter('hierarchyNode'))
    const otherThanNodes =
      hierarchyId === undefined
        ? undefined
        : await this.#set(`${caller.tenantId} ${hierarchyId}`, async (known) => {
            return (await client.resolveHierarchy({ body: { data: { hierarchyId, ...known } } })).data
          }).catch(inParameter('unassignedIn'))
    return {
      ...(nodes === undefined ? {} : { nodes }),
      ...(otherThanNodes === undefined ? {} : { otherThanNodes }),
    }
  }

  /**
   * Returns a set of nodes. Each call asks the hierarchy service, even if the set is cached, because the hierarchy
   * service checks the permission of the caller.
   */
  async #set(key: string, resolve: (known: { knownVersion?: number }) => Promise<ResolvedNodes>): Promise<NodeSet> {
    const cached = this.#sets.get(key)
    const { version, nodes } = await resolve(cached === undefined ? {} : { knownVersion: cached.version })
    const set = nodes === undefined ? cached : { version, ...unpacked(nodes), identity: `${key} ${version}` }
    if (set === undefined) throw new TypeError('The hierarchy service sent no nodes')
    this.#keep(key, set)
    return set
  }

  #keep(key: string, set: CachedSet): void {
    this.#remove(key)
    if (set.nodes < smallest) return
    for (const [oldest] of this.#sets) {
      if (this.#bytes + set.ids.length <= cacheBytes) break
      this.#remove(oldest)
    }
    this.#sets.set(key, set)
    this.#bytes += set.ids.length
  }

  #remove(key: string): void {
    this.#bytes -= this.#sets.get(key)?.ids.length ?? 0
    this.#sets.delete(key)
  }
}
