import type { Handle } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'
import type { CountScope } from './count-store.ts'
import { isAscii, lowerCase, nameQuery } from './name-tokens.ts'
import { counted, countsOf, type ListedNode, nodeColumns } from './node-store.ts'

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

/** Up to this many nodes, the nodes above each found node are read. For more nodes, all nodes of the subtree are read. */
const fewFound = 500

/** Selects the ids of the nodes above `m`. */
const above = `with recursive above as (
    select m.parent_id as id
    union all
    select p.parent_id from above a join hierarchy_nodes p on p.tenant_id = $1 and p.id = a.id
  ) select id from above`

const isBelow = '(m.id in (select id from below)) is true'

/** The parts of a statement that restrict the search to the nodes below `$11`. */
const restriction = {
  with: `below as (
    select c.id from hierarchy_nodes c where c.tenant_id = $1 and c.parent_id = $11
    union all
    select c.id from below b join hierarchy_nodes c on c.tenant_id = $1 and c.parent_id = b.id
  ),`,
  compared: `and ${isBelow}`,
  indexed: `where case when (select count(*) from matching) <= ${fewFound} then $11::uuid in (${above}) else ${isBelow} end`,
} as const

const searchWith = (lowered: string, restricted: Record<keyof typeof restriction, string>) => {
  const next = `from hierarchy_nodes m where m.tenant_id = $1 and m.hierarchy_id = $2 and (m.name, m.id) > ($4, $5::uuid)`
  const matches = `position($3 in ${lowered}) > 0`
  return statement<ListedNode>(
    `with recursive ${restricted.with} compared as materialized (
       select m.id, m.name from (select m.id, m.name ${next} order by m.name, m.id limit $10) as m
       where ${matches} ${restricted.compared} order by m.name, m.id limit $8
     ), matching as materialized (
       select m.id, m.name, m.parent_id ${next} and m.name_tokens @@ $9::tsquery and ${matches}
         and case when (select count(*) from compared) = $8 then false
           else (select count(*) from (select m.id ${next} limit $10) as c) = $10 end
     ), indexed as (
       select m.id, m.name from matching m ${restricted.indexed}
     ), found as (
       select id, name from compared union select id, name from indexed order by name, id limit $8
     )
     select ${nodeColumns('n')}, (select count(*) from hierarchy_nodes s where s.tenant_id = $1
         and s.parent_id = n.parent_id and (s.rank, s.rank_tail, s.id) < (n.rank, n.rank_tail, n.id)) as position, ${counted}
     from found join hierarchy_nodes n on n.tenant_id = $1 and n.id = found.id
     ${countsOf('$6', '$7')} order by n.name, n.id`,
  )
}

const statementsOf = (lowered: string) => ({
  everywhere: searchWith(lowered, { with: '', compared: '', indexed: '' }),
  below: searchWith(lowered, restriction),
})
const statements = { any: statementsOf(lowerCases.any), ascii: statementsOf(lowerCases.ascii) }

type SearchQuery = {
  hierarchyId: string
  text: string
  after: { name: string; id: string }
  limit: number
  scope: CountScope
  /** The node below which the search runs. Undefined means all nodes of the hierarchy. */
  belowId: string | undefined
  /** The number of names that are compared before the index of tokens is used. */
  compared?: number
}

/** Returns the nodes whose name contains a text, by name. Upper and lower case are equal. */
export function searchNodes(handle: Handle, query: SearchQuery): Promise<ListedNode[]> {
  const { hierarchyId, text, after, limit, scope, belowId, compared = usual } = query
  const { groups, gateways } = scope
  const tokens = nameQuery(hierarchyId, text)
  const values = [hierarchyId, lowerCase(text), after.name, after.id, groups, gateways, limit, tokens, compared]
  const { everywhere, below: belowNode } = statements[isAscii(text) ? 'ascii' : 'any']
  return belowId === undefined ? handle.rows(everywhere, ...values) : handle.rows(belowNode, ...values, belowId)
}
