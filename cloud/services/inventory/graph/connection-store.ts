import { inventoryLimits } from '@millwright/api/inventory/shapes.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { arrayOf } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'

/**
 * The connections of assets. Starting from some assets, the relations of all assets that are found are read, in rounds: each
 * round reads the relations of the assets that the round before found. The limits are in `inventoryLimits`.
 */

export type Connection = { subject: string; predicate: string; object: string }

const columns = `r.subject_id as subject, r.predicate, r.object_id as object`
const areAssets = `r.subject_type = 'asset' and r.object_type = 'asset'`
const outgoingStatement = statement<Connection>(
  `select distinct ${columns} from relations r
   where r.tenant_id = $1 and r.subject_id = any($2::uuid[]) and r.predicate = any($3::text[]) and ${areAssets} limit $4`,
)
const incomingStatement = statement<Connection>(
  `select distinct ${columns} from relations r
   where r.tenant_id = $1 and r.object_id = any($2::uuid[]) and r.predicate = any($3::text[]) and ${areAssets} limit $4`,
)

export type ConnectionQuery = {
  ids: readonly string[]
  /** The predicates that are followed from the subject to the object. */
  outgoing: readonly string[]
  /** The predicates that are followed from the object to the subject. */
  incoming: readonly string[]
}

export type Connections = { relations: Connection[]; assets: Set<string>; unexplored: string[] }

export async function connectionsOf(
  handle: Handle,
  { ids, outgoing, incoming }: ConnectionQuery,
): Promise<Connections> {
  const assets = new Set(ids)
  const relations = new Map<string, Connection>()
  let found: string[] = [...assets]
  for (let round = 0; found.length > 0; round++) {
    const left = inventoryLimits.connections - relations.size
    if (round === inventoryLimits.connectionDepth || assets.size > inventoryLimits.connectedAssets) break
    const nodes = arrayOf('uuid', found)
    const read = [
      ...(await handle.rows(outgoingStatement, nodes, outgoing, left + 1)),
      ...(await handle.rows(incomingStatement, nodes, incoming, left + 1)),
    ]
    if (read.length > left) break
    found = []
    for (const relation of read) {
      relations.set(`${relation.subject} ${relation.object} ${relation.predicate}`, relation)
      for (const id of [relation.subject, relation.object]) {
        if (assets.has(id)) continue
        assets.add(id)
        found.push(id)
      }
    }
  }
  return { relations: [...relations.values()], assets, unexplored: found }
}

const gatewaysStatement = statement<{ id: string }>(
  `with roots as materialized (select a.id from assets a where a.tenant_id = $1 and a.type = 'Gateway')
   select id from roots
   union
   select r.object_id from roots join relations r on r.tenant_id = $1 and r.subject_id = roots.id
     and r.predicate in ('is_installed_on', 'is_running_on', 'is_part_of', 'is_module_of') and r.subject_type = 'asset'
     and r.object_type = 'asset'`,
)

/** Returns those of the assets that are gateways, or machines on which gateways run. A tenant has a few thousand of them. */
export async function gatewaysAmong(handle: Handle, assets: ReadonlySet<string>): Promise<string[]> {
  return (await handle.rows(gatewaysStatement)).map(({ id }) => id).filter((id) => assets.has(id))
}
