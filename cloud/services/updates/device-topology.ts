import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { nextTurn } from '../../platform/event-loop.ts'
import type { Context } from '../../platform/service.ts'
import { createTopology, directedPredicates, type Topology, undirectedPredicates } from './topology.ts'

const undirected = [...undirectedPredicates]
const all = [...directedPredicates, ...undirectedPredicates]

/**
 * Reads the topology around assets. `upstream` follows the relations to the devices above the assets, which decide the order of
 * updates. `downstream` follows them to the devices below, which a restart interrupts. Assets that the caller cannot read are
 * part of the topology. Check the permissions before you return their ids.
 */
export async function readTopology(
  { peers }: Context,
  { tenantId, tenantName }: Caller,
  { assetIds, direction }: { assetIds: readonly string[]; direction: 'upstream' | 'downstream' },
): Promise<Topology> {
  if (assetIds.length === 0) return createTopology({ relations: [], gateways: new Set() })
  const { data } = await peers(inventory, systemCaller({ tenantId, tenantName })).readConnections({
    body: {
      data: {
        ids: [...assetIds],
        outgoing: direction === 'upstream' ? all : undirected,
        incoming: direction === 'upstream' ? undirected : all,
      },
    },
  })
  await nextTurn(tenantId)
  return createTopology({
    relations: data.relations,
    gateways: new Set(data.gateways),
    unexplored: new Set(data.unexplored),
  })
}
