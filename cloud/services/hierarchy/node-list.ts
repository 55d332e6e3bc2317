import { hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Handle } from '../../platform/database/database.ts'
import { isId, lowestId } from '../../platform/database/id.ts'
import { JsonText } from '../../platform/service.ts'
import { getHierarchy } from './hierarchies.ts'
import { countBelow, countChildren, countMatches, matchAtOffset } from './node-paging-store.ts'
import type { HierarchyRow } from './node-store.ts'
import * as store from './node-store.ts'
import { searchNodes } from './search-store.ts'
import { countScope, listTree, type Parent, parentIn, showNode, type TreePlace } from './tree.ts'

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
  if (offset > 0 && depth > 1 && q === undefined) {
    const detail = 'A list with a depth greater than 1 has no offset. Use cursor with meta.nextCursor'
    throw new Problem('invalid_query', detail, { errors: [{ pointer: '/offset', code: 'invalid_query', detail }] })
  }
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
  const after = cursor === undefined ? undefined : readPlace(cursor, top.id)
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
    nextCursor: next && writePlace(next, top.id),
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
  const start = cursor === undefined ? { name: '', id: lowestId } : readName(cursor)
  // No name contains the NUL character, which the database cannot compare.
  if (text.includes('\0')) return empty
  const search = { hierarchyId: tree.id, text, belowId: top.id === tree.id ? undefined : top.id }
  const countAll = () => countMatches(handle, search)
  const after = offset === 0 ? start : await matchAtOffset(handle, search, { after: start, offset: offset - 1 })
  if (after === undefined) return { ...empty, countAll }
  const found = await searchNodes(handle, { ...search, after, limit: limit + 1, scope: countScope(caller) })
  const rows = found.slice(0, limit)
  const paths = await store.pathsTo(
    handle,
    rows.map(({ id }) => id),
  )
  const last = found.length > limit ? rows.at(-1) : undefined
  return {
    nodes: rows.map((row) => JSON.stringify(showNode(row, (paths.get(row.id)?.length ?? 1) - 1))),
    nextCursor: last && writeName(last),
    countAll,
  }
}

const idBytes = 16
const rankBytes = 8

/** Writes a cursor: the id of the top node, and the rank and the id of each node of the place. */
function writePlace(place: TreePlace, topId: string): string {
  const parts = place.flatMap(({ rank, id }) => {
    const bytes = Buffer.alloc(rankBytes)
    bytes.writeBigInt64BE(BigInt(rank))
    return [bytes, bytesOf(id)]
  })
  return Buffer.concat([bytesOf(topId), ...parts]).toString('base64url')
}

function bytesOf(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

function readPlace(cursor: string, topId: string): TreePlace {
  const bytes = Buffer.from(cursor, 'base64url')
  const places = (bytes.length - idBytes) / (rankBytes + idBytes)
  if (!Number.isInteger(places) || places < 1 || !bytes.subarray(0, idBytes).equals(bytesOf(topId)))
    throw invalidCursor()
  return Array.from({ length: places }, (_, index) => {
    const start = idBytes + index * (rankBytes + idBytes)
    const rank = Number(bytes.readBigInt64BE(start))
    if (!Number.isSafeInteger(rank)) throw invalidCursor()
    return {
      rank,
      id: bytes.toString('hex', start + rankBytes, start + rankBytes + idBytes).replace(uuidParts, uuidForm),
    }
  })
}

const uuidParts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/
const uuidForm = '$1-$2-$3-$4-$5'

function writeName({ name, id }: { name: string; id: string }): string {
  return Buffer.from(JSON.stringify([name, id])).toString('base64url')
}

function readName(cursor: string): { name: string; id: string } {
  try {
    const [name, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [unknown, unknown]
    if (typeof name === 'string' && !name.includes('\0') && typeof id === 'string' && isId(id)) return { name, id }
  } catch {
    // The text is not JSON, so it is not a cursor of this list.
  }
  throw invalidCursor()
}

function invalidCursor(): Problem {
  return new Problem('invalid_cursor', 'The cursor does not belong to this list. Start again without a cursor')
}
