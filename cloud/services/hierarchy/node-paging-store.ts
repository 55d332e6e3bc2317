import type { Handle } from '../../platform/database/database.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'
import { isAscii, lowerCase } from './name-tokens.ts'
import { hasChildren, isChildOf, type StructureRow } from './node-store.ts'
import type { Rank } from './rank-store.ts'
import { lowerCases } from './search-store.ts'

/** Statements on totals, offsets and cursors of lists of nodes. */

/** A place in the order of siblings. The place remains valid if its node is deleted. */
type SiblingPlace = ChildPlace & { parentId: string }

/** The position of a place: the number of siblings up to it, minus one. `isCurrent` is true if its node is still there. */
type PlacePosition = { position: number; isCurrent: boolean }

const positionsStatement = statement<PlacePosition>(
  `with places as (
     select p.parent_id, p.rank, p.tail, p.id, p.ordinal,
            (select c.parent_id = p.parent_id from hierarchy_nodes c where c.tenant_id = $1 and c.id = p.id) is true
              as is_current
     from unnest($2::uuid[], $3::bigint[], $4::text[], $5::uuid[]) with ordinality as p (parent_id, rank, tail, id, ordinal)
   ), reached as (
     select *, coalesce(bool_and(is_current) over (order by ordinal rows between unbounded preceding and 1 preceding), true)
       as is_reached
     from places
   )
   select (select count(*) from hierarchy_nodes s where s.tenant_id = $1 and s.parent_id = r.parent_id
             and (s.rank, s.rank_tail, s.id) <= (r.rank, r.tail, r.id)) - 1 as position,
          r.is_current as "isCurrent"
   from reached r where r.is_reached order by r.ordinal`,
)

/**
 * Returns the positions of places among the current siblings. The places are on one path, from the top. The result
 * ends with the first place whose node is no longer there, so that a changed cursor cannot make the statement count the
 * same siblings several times.
 */
export function positionsAt(handle: Handle, places: readonly SiblingPlace[]): Promise<PlacePosition[]> {
  return handle.rows(
    positionsStatement,
    arrayOf(
      'uuid',
      places.map(({ parentId }) => parentId),
    ),
    arrayOf(
      'bigint',
      places.map(({ rank }) => rank),
    ),
    arrayOf(
      'text',
      places.map(({ tail }) => tail),
    ),
    arrayOf(
      'uuid',
      places.map(({ id }) => id),
    ),
  )
}

const siblingPositionsStatement = statement<NodePosition>(
  `select n.id, n.parent_id as "parentId", n.position, ${hasChildren} as "hasChildren" from (
     select c.id, c.parent_id, row_number() over (partition by c.parent_id order by c.rank, c.rank_tail, c.id) - 1 as position
     from hierarchy_nodes c where c.tenant_id = $1 and c.parent_id = any(array(
       select x.parent_id from hierarchy_nodes x where x.tenant_id = $1 and x.id = any($2::uuid[])))) as n
   join unnest($2::uuid[]) as f (id) on f.id = n.id`,
)

type NodePosition = Omit<StructureRow, keyof Rank>

/**
 * Returns nodes with their parents and their positions among their siblings, by the id of the node. The siblings of several
 * nodes are read once.
 */
export async function positionsOf(handle: Handle, ids: readonly string[]): Promise<Map<string, NodePosition>> {
  const rows = ids.length === 0 ? [] : await handle.rows(siblingPositionsStatement, arrayOf('uuid', ids))
  return new Map(rows.map((row) => [row.id, row]))
}

const childAtStatement = statement<ChildPlace>(
  `select c.id, c.rank, c.rank_tail as tail from hierarchy_nodes c where c.tenant_id = $1 and c.parent_id = $2
   order by c.rank, c.rank_tail, c.id limit 1 offset $3`,
)

/** Returns the child of a node at a position from 0. */
export function childAt(handle: Handle, parentId: string, position: number): Promise<ChildPlace | undefined> {
  return handle.row(childAtStatement, parentId, position)
}

type ChildPlace = Rank & { id: string }

const countChildrenStatement = statement<{ total: number }>(
  `select count(*) as total from hierarchy_nodes c where c.tenant_id = $1 and c.parent_id = $2`,
)

export async function countChildren(handle: Handle, parentId: string): Promise<number> {
  return (await handle.row(countChildrenStatement, parentId))?.total ?? 0
}

const countBelowStatement = statement<{ total: number }>(
  `with recursive below as (
     select c.id, 1 as height from hierarchy_nodes c where c.tenant_id = $1 and c.parent_id = $2
     union all
     select c.id, b.height + 1 from below b join hierarchy_nodes c on c.tenant_id = $1 and ${isChildOf('c', 'b')}
     where b.height < $3
   ) select count(*) as total from below`,
)

/** Returns the number of nodes below a node, down to a depth. */
export async function countBelow(handle: Handle, parentId: string, depth: number): Promise<number> {
  return (await handle.row(countBelowStatement, parentId, depth))?.total ?? 0
}

/** Selects from the nodes `m` whose name contains a text. With `$4`, only nodes below this node match. */
const matching = (selected: string, lowered: string, page = '') => `with recursive below as (
     select c.id from hierarchy_nodes c where c.tenant_id = $1 and c.parent_id = $4::uuid
     union all
     select c.id from below b join hierarchy_nodes c on c.tenant_id = $1 and ${isChildOf('c', 'b')}
   ) select ${selected} from hierarchy_nodes m where m.tenant_id = $1 and m.hierarchy_id = $2
       and position($3 in ${lowered}) > 0 and ($4::uuid is null or m.id in (select id from below)) ${page}`
const matchAtWith = (lowered: string) =>
  statement<MatchPlace>(matching('m.name, m.id', lowered, 'order by m.name, m.id limit 1 offset $5'))
const matchCount = (lowered: string) => statement<{ total: number }>(matching('count(*) as total', lowered))
const searchStatements = {
  any: { at: matchAtWith(lowerCases.any), count: matchCount(lowerCases.any) },
  ascii: { at: matchAtWith(lowerCases.ascii), count: matchCount(lowerCases.ascii) },
}

type MatchPlace = { name: string; id: string }
type NameSearch = { hierarchyId: string; text: string; belowId: string | undefined }

/** Returns the number of nodes that match a search. */
export async function countMatches(handle: Handle, { hierarchyId, text, belowId }: NameSearch): Promise<number> {
  const { count } = searchStatements[isAscii(text) ? 'ascii' : 'any']
  return (await handle.row(count, hierarchyId, lowerCase(text), belowId ?? null))?.total ?? 0
}

/** Returns the match at a position from 0. */
export function matchAt(
  handle: Handle,
  { hierarchyId, text, belowId }: NameSearch,
  position: number,
): Promise<MatchPlace | undefined> {
  const { at } = searchStatements[isAscii(text) ? 'ascii' : 'any']
  return handle.row(at, hierarchyId, lowerCase(text), belowId ?? null, position)
}
