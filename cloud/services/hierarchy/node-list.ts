import { hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Handle } from '../../platform/database/database.ts'
import { bytesOfId, idBytes, idOfBytes, isId, lowestId } from '../../platform/database/id.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import { JsonText } from '../../platform/service.ts'
import { getHierarchy } from './hierarchies.ts'
import { countBelow, countChildren, countMatches, matchAt, positionsOf } from './node-paging-store.ts'
import type { HierarchyRow } from './node-store.ts'
import * as store from './node-store.ts'
import { tailPattern } from './rank-store.ts'
import { searchNodes } from './search-store.ts'
import { countScope, listTree, type Parent, parentIn, printNodes, type TreePlace } from './tree.ts'

/** Lists of nodes: the nodes below a node in the order of the tree, or the nodes that match a search, by name. */

type NodeQuery = {
  hierarchyId: string
  parentId?: string
  depth?: number
  q?: string
  limit?: number
  offset?: number
  cursor?: string
  count?: boolean
}

type List = { tree: HierarchyRow; top: Parent; limit: number; offset: number; cursor: string | undefined }

/** A page of nodes. `nodes` contains JSON texts. */
type NodePage = { nodes: string[]; nextCursor: string | undefined; countAll: () => Promise<number> }

export async function listNodes(handle: Handle, caller: Caller, query: NodeQuery): Promise<JsonText> {
  const { hierarchyId, parentId, depth = 1, q, limit = 50, offset = 0, cursor } = query
  // The number of children is read quickly. Other totals take longer, so they are read only on request.
  const { count = q === undefined && depth === 1 } = query
  if (offset > 0 && depth > 1 && q === undefined)
    throw invalidOffset('A list with a depth greater than 1 has no offset. Use cursor with meta.nextCursor')
  if (offset > 0 && cursor !== undefined) throw invalidOffset('Send either cursor or offset, not both')
  const tree = await getHierarchy(handle, hierarchyId)
  const top = await parentIn(handle, tree.id, parentId ?? null, '/parentId')
  const list = { tree, top, limit, offset, cursor }
  const page =
    q === undefined ? await listBelow(handle, caller, list, depth) : await listMatches(handle, caller, list, q)
  const { nodes, nextCursor } = page
  // The first page with all elements needs no count.
  const isWhole = cursor === undefined && nextCursor === undefined && (nodes.length > 0 || offset === 0)
  const total = isWhole ? offset + nodes.length : count ? await page.countAll() : undefined
  const meta = {
    ...(total === undefined || query.count === false ? {} : { totalElements: total }),
    elements: nodes.length,
    offset,
    ...(nextCursor === undefined ? {} : { nextCursor }),
  }
  const parts = nodes.flatMap((node, index) => (index === 0 ? [node] : [',', node]))
  return new JsonText('{"data":[', ...parts, `],"meta":${JSON.stringify(meta)}}`)
}

async function listBelow(
  handle: Handle,
  caller: Caller,
  { tree, top, limit, offset, cursor }: List,
  depth: number,
): Promise<NodePage> {
  const after = cursor === undefined ? undefined : readPlace(cursor, { top, tree })
  if (after !== undefined && after.length > depth) throw invalidCursor()
  const { nodes, next } = await listTree(handle, top, {
    hierarchyId: tree.id,
    depth,
    limit,
    offset,
    scope: countScope(caller),
    after,
  })
  return {
    nodes,
    nextCursor: next && writePlace(next, { top, tree }),
    countAll: () => countListed(handle, { tree, top }, depth),
  }
}

/** Returns the number of nodes below a node, down to a depth. */
async function countListed(handle: Handle, { tree, top }: Pick<List, 'tree' | 'top'>, depth: number): Promise<number> {
  if (depth === 1) return countChildren(handle, top.id)
  return top.id === tree.id && depth === hierarchyLimits.levels ? tree.nodes : countBelow(handle, top.id, depth)
}

async function listMatches(
  handle: Handle,
  caller: Caller,
  { tree, top, limit, offset, cursor }: List,
  text: string,
): Promise<NodePage> {
  const empty = { nodes: [], nextCursor: undefined, countAll: async () => 0 }
  const start = cursor === undefined ? { name: '', id: lowestId } : readName(cursor, { text, topId: top.id })
  // No name contains the NUL character, which the database cannot compare.
  if (text.includes('\0')) return empty
  const search = { hierarchyId: tree.id, text, belowId: top.id === tree.id ? undefined : top.id }
  const countAll = () => countMatches(handle, search)
  const after = offset === 0 ? start : await matchAt(handle, search, offset - 1)
  if (after === undefined) return { ...empty, countAll }
  const found = await searchNodes(handle, { ...search, after, limit: limit + 1 })
  const rows = found.slice(0, limit)
  const ids = rows.map(({ id }) => id)
  const [paths, positions] = await Promise.all([store.pathsTo(handle, ids), positionsOf(handle, ids)])
  // A node that was deleted since it was found is left out.
  const placed = rows.flatMap((row) => {
    const position = positions.get(row.id)
    const level = (paths.get(row.id)?.length ?? 1) - 1
    return position === undefined ? [] : [{ row: position, level }]
  })
  const last = found.length > limit ? rows.at(-1) : undefined
  return {
    nodes: await printNodes(handle, placed, { hierarchyId: tree.id, scope: countScope(caller) }),
    nextCursor: last && writeName(last, { text, topId: top.id }),
    countAll,
  }
}

const numberBytes = 8

/**
 * Writes a cursor: the id of the top node, the number of renumberings, and the rank, the length of the tail, the tail and
 * the id of each node of the place.
 */
function writePlace(place: TreePlace, { top, tree }: Pick<List, 'top' | 'tree'>): string {
  const parts = place.flatMap(({ rank, tail, id }) => [
    bytesOfNumber(rank),
    Buffer.of(tail.length),
    Buffer.from(tail, 'latin1'),
    bytesOfId(id),
  ])
  return Buffer.concat([bytesOfId(top.id), bytesOfNumber(tree.renumberings), ...parts]).toString('base64url')
}

function bytesOfNumber(number: number): Buffer {
  const bytes = Buffer.alloc(numberBytes)
  bytes.writeBigInt64BE(BigInt(number))
  return bytes
}

function readPlace(cursor: string, { top, tree }: Pick<List, 'top' | 'tree'>): TreePlace {
  const bytes = Buffer.from(cursor, 'base64url')
  let at = 0
  const next = (length: number): Buffer => {
    if (at + length > bytes.length) throw invalidCursor()
    at += length
    return bytes.subarray(at - length, at)
  }
  const nextNumber = () => Number(next(numberBytes).readBigInt64BE())
  if (!next(idBytes).equals(bytesOfId(top.id)) || nextNumber() !== tree.renumberings) throw invalidCursor()
  const place: { rank: number; tail: string; id: string }[] = []
  do {
    const rank = nextNumber()
    const tail = next(next(1).readUInt8()).toString('latin1')
    if (!Number.isSafeInteger(rank) || !tailPattern.test(tail)) throw invalidCursor()
    place.push({ rank, tail, id: idOfBytes(next(idBytes)) })
  } while (at < bytes.length)
  return place
}

type Search = { text: string; topId: string }

/** Writes a cursor of a search: the text, the id of the top node, and the name and the id of the last node. */
function writeName({ name, id }: { name: string; id: string }, { text, topId }: Search): string {
  return Buffer.from(JSON.stringify([text, topId, name, id])).toString('base64url')
}

function readName(cursor: string, search: Search): { name: string; id: string } {
  try {
    const [text, topId, name, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    const isOfSearch = text === search.text && topId === search.topId
    if (isOfSearch && typeof name === 'string' && !name.includes('\0') && typeof id === 'string' && isId(id))
      return { name, id }
  } catch {
    // The text is not JSON, so it is not a cursor of this list.
  }
  throw invalidCursor()
}

function invalidOffset(detail: string): Problem {
  return fieldProblem('invalid_query', '/offset', detail)
}

function invalidCursor(): Problem {
  return new Problem(
    'invalid_cursor',
    'The cursor does not belong to this list, or the order of the nodes has changed too much. Start again without a cursor',
  )
}
