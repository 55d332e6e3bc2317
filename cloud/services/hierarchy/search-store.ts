import type { Handle } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'
import { isAscii, lowerCase, nameQuery } from './name-tokens.ts'
import { isChildOf } from './node-store.ts'

/**
 * The search for nodes by a part of their name.
 *
 * A frequent text is found among the next names in the order of the list. If these names do not fill the page, the text is
 * rare, and the index of tokens returns all nodes that may contain it. Each strategy compares the names themselves.
 */

/** The usual number of names that are compared before the index of tokens is used. */
const usual = 2_000

/** Lower case of all letters, and of the letters of ASCII only, which is several times faster. */
export const lowerCases = { any: 'lower(m.name collate "default")', ascii: 'lower(m.name)' } as const

/**
 * Up to this many nodes, the nodes above each found node are read. For more nodes, all nodes of the subtree are read and
 * joined: the planner uses a hash table for a join also if it expects a large subtree, but not for a condition.
 */
const fewFound = 500

/** The condition that node `m` is below `$9`. It reads the nodes above `m`. */
const isBelow = `m.id <> $9::uuid and $9::uuid in (with recursive above as (
    select m.id
    union all
    select p.parent_id from above a join hierarchy_nodes p on p.tenant_id = $1 and p.id = a.id
  ) select id from above)`

/** The parts of a statement that restrict the search to the nodes below `$9`. */
const restriction = {
  with: `below as (
    select c.id from hierarchy_nodes c where c.tenant_id = $1 and c.parent_id = $9
    union all
    select c.id from below b join hierarchy_nodes c on c.tenant_id = $1 and ${isChildOf('c', 'b')}
  ),`,
  compared: `and ${isBelow}`,
  indexed: `select m.id, m.name from matching m where (select count(*) from matching) <= ${fewFound} and ${isBelow}
       union all
       select m.id, m.name from matching m join below on below.id = m.id where (select count(*) from matching) > ${fewFound}`,
} as const

const unrestricted = { with: '', compared: '', indexed: 'select m.id, m.name from matching m' } as const

type Match = { id: string; name: string }

const searchWith = (lowered: string, restricted: Record<keyof typeof restriction, string>) => {
  const next = `from hierarchy_nodes m where m.tenant_id = $1 and m.hierarchy_id = $2 and (m.name, m.id) > ($4, $5::uuid)`
  const matches = `position($3 in ${lowered}) > 0`
  return statement<Match>(
    `with recursive ${restricted.with} compared as materialized (
       select m.id, m.name from (select m.id, m.name ${next} order by m.name, m.id limit $8) as m
       where ${matches} ${restricted.compared} order by m.name, m.id limit $6
     ), matching as materialized (
       select m.id, m.name ${next} and m.name_tokens @@ $7::tsquery and ${matches}
         and case when (select count(*) from compared) = $6 then false
           else (select count(*) from (select m.id ${next} limit $8) as c) = $8 end
     ), indexed as (
       ${restricted.indexed}
     ), found as (
       select id, name from compared union select id, name from indexed order by name, id limit $6
     )
     select id, name from found order by name, id`,
  )
}

const statementsOf = (lowered: string) => ({
  everywhere: searchWith(lowered, unrestricted),
  below: searchWith(lowered, restriction),
})
const statements = { any: statementsOf(lowerCases.any), ascii: statementsOf(lowerCases.ascii) }

type SearchQuery = {
  hierarchyId: string
  text: string
  after: { name: string; id: string }
  limit: number
  /** The node below which the search runs. Undefined means all nodes of the hierarchy. */
  belowId: string | undefined
  /** The number of names that are compared before the index of tokens is used. */
  compared?: number
}

/** Returns the nodes whose name contains a text, by name. Upper and lower case are equal. */
export function searchNodes(handle: Handle, query: SearchQuery): Promise<Match[]> {
  const { hierarchyId, text, after, limit, belowId, compared = usual } = query
  const tokens = nameQuery(hierarchyId, text)
  const values = [hierarchyId, lowerCase(text), after.name, after.id, limit, tokens, compared]
  const { everywhere, below: belowNode } = statements[isAscii(text) ? 'ascii' : 'any']
  return belowId === undefined ? handle.rows(everywhere, ...values) : handle.rows(belowNode, ...values, belowId)
}
