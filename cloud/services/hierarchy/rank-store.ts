import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

/**
 * The places of nodes among their siblings. Siblings are ordered by `rank`, `tail` and id. Ranks are integers with gaps. If
 * a place has no free rank, the node gets the rank of its predecessor and a tail between the tails of its neighbours. So a
 * new place changes no other node, and the cursors of lists remain valid. Only if a tail would become too long, all siblings
 * get new ranks. The hierarchy counts this, and cursors from before are refused.
 */

export type Rank = { rank: number; tail: string }

/** The distance of neighbouring ranks. */
export const rankGap = 2 ** 20

/** The maximum length of a tail. Each new place between the same two siblings needs one bit of about six in a character. */
const longestTail = 64

/** Compares two siblings in the order of the tree. */
export function bySiblingOrder(one: Rank & { id: string }, other: Rank & { id: string }): number {
  if (one.rank !== other.rank) return one.rank - other.rank
  const [first, second] = one.tail === other.tail ? [one.id, other.id] : [one.tail, other.tail]
  return first < second ? -1 : 1
}

/** The digits of tails, in the order of their character codes. */
const digits = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'

/** The pattern of a tail. */
export const tailPattern = /^[-\w]*$/

/**
 * Returns a text between two tails, without `high` a text after `low`. It never ends with the lowest digit, so that there
 * is always a text before it. If there is no text between them, the result is longer than the longest tail, so that the
 * siblings get new ranks.
 */
function tailBetween(low: string, high: string | undefined): string {
  let tail = ''
  let end = high
  for (let at = 0; at <= longestTail; at++) {
    const from = at < low.length ? digits.indexOf(low.charAt(at)) : 0
    const to = end === undefined ? digits.length : digits.indexOf(end.charAt(at))
    if (to - from > 1) return tail + digits.charAt(Math.floor((from + to) / 2))
    tail += digits.charAt(from)
    if (to > from) end = undefined
  }
  return tail
}

/** Returns the rank of a place between two neighbours. */
export function rankBetween(previous: Rank | undefined, next: Rank | undefined): Rank {
  if (previous === undefined) return { rank: next === undefined ? rankGap : next.rank - rankGap, tail: '' }
  if (next === undefined) return { rank: previous.rank + rankGap, tail: '' }
  const middle = Math.floor((previous.rank + next.rank) / 2)
  if (middle > previous.rank) return { rank: middle, tail: '' }
  return {
    rank: previous.rank,
    tail: tailBetween(previous.tail, next.rank === previous.rank ? next.tail : undefined),
  }
}

const neighboursStatement = statement<Rank>(
  `select n.rank, n.rank_tail as tail from hierarchy_nodes n where n.tenant_id = $1 and n.parent_id = $2 and n.id <> $3
   order by n.rank, n.rank_tail, n.id limit $4 offset $5`,
)
const lastStatement = statement<Rank>(
  `select n.rank, n.rank_tail as tail from hierarchy_nodes n where n.tenant_id = $1 and n.parent_id = $2 and n.id <> $3
   order by n.rank desc, n.rank_tail desc, n.id desc limit 1`,
)
const renumberStatement = statement(
  `update hierarchy_nodes n set rank = s.rank, rank_tail = '' from (
     select c.id, row_number() over (order by c.rank, c.rank_tail, c.id) * $3::bigint as rank from hierarchy_nodes c
     where c.tenant_id = $1 and c.parent_id = $2) as s
   where n.tenant_id = $1 and n.id = s.id`,
)
const noteRenumberingStatement = statement(
  `update hierarchies set renumberings = renumberings + 1 where tenant_id = $1 and id = $2`,
)

/** `nodeId` is the new or moved node, which is not counted as a sibling. Without `position`, it gets the last place. */
type PlaceQuery = { hierarchyId: string; parentId: string; position: number | undefined; nodeId: string }

/** Returns the rank of a place among the children of a node. The hierarchy must be locked. */
export async function rankAt(tx: Transaction, query: PlaceQuery): Promise<Rank> {
  for (;;) {
    const rank = rankBetween(...(await neighboursAt(tx, query)))
    if (rank.tail.length <= longestTail) return rank
    await tx.run(renumberStatement, query.parentId, rankGap)
    await tx.run(noteRenumberingStatement, query.hierarchyId)
  }
}

async function neighboursAt(
  tx: Transaction,
  { parentId, position, nodeId }: PlaceQuery,
): Promise<[Rank | undefined, Rank | undefined]> {
  if (position === 0) return [undefined, (await tx.rows(neighboursStatement, parentId, nodeId, 1, 0))[0]]
  const found =
    position === undefined ? [] : await tx.rows(neighboursStatement, parentId, nodeId, 2, Math.max(0, position - 1))
  return found.length > 0 ? [found[0], found[1]] : [await tx.row(lastStatement, parentId, nodeId), undefined]
}

const lastRanksStatement = statement<{ parentId: string; rank: number }>(
  `select n.parent_id as "parentId", max(n.rank) as rank from hierarchy_nodes n
   where n.tenant_id = $1 and n.parent_id = any($2::uuid[]) group by n.parent_id`,
)

/** Returns the ranks of the last children of nodes. Nodes without children are left out. */
export async function lastRanksOf(handle: Handle, parentIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await handle.rows(lastRanksStatement, arrayOf('uuid', parentIds))
  return new Map(rows.map(({ parentId, rank }) => [parentId, rank]))
}
