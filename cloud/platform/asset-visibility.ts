import { inventory, inventoryLimits } from '@millwright/api/inventory.ts'
import type { Caller } from './access/caller.ts'
import { may } from './access/rights.ts'
import type { Context } from './service.ts'

/**
 * Which assets, gateways and links a caller can read, for services that name them but do not hold them. The inventory is
 * asked each time, so a move to another access group takes effect at once. A caller who reads the whole tenant costs nothing.
 */

type Asking = Pick<Context, 'peers'>

export function readsAllAssets(caller: Pick<Caller, 'rights'>): boolean {
  return may(caller, 'inventory_read_asset_data')
}

/** The ids of the gateways that the caller can read; null is all, also those whose asset is gone. */
export async function readableGateways({ peers }: Asking, caller: Caller): Promise<string[] | null> {
  if (readsAllAssets(caller)) return null
  return (await peers(inventory, caller).listReadableGateways({})).data
}

export async function isReadableGateway(context: Asking, caller: Caller, gatewayId: string): Promise<boolean> {
  const gateways = await readableGateways(context, caller)
  return gateways === null || gateways.includes(gatewayId)
}

/** Those of the ids whose assets the caller can read. Deleted assets count by their last access group. */
export async function readableAssets(context: Asking, caller: Caller, ids: readonly string[]): Promise<Set<string>> {
  return readsAllAssets(caller) ? new Set(ids) : (await classify(context, caller, ids)).readable
}

/** Those of the ids that are assets which the caller cannot read. */
export async function hiddenAssets(context: Asking, caller: Caller, ids: readonly string[]): Promise<Set<string>> {
  return readsAllAssets(caller) ? new Set() : (await classify(context, caller, ids)).hidden
}

async function classify({ peers }: Asking, caller: Caller, ids: readonly string[]) {
  const once = [...new Set(ids)]
  const readable = new Set<string>()
  const hidden = new Set<string>()
  for (let start = 0; start < once.length; start += inventoryLimits.classified) {
    const part = once.slice(start, start + inventoryLimits.classified)
    const { data } = await peers(inventory, caller).classifyAssets({ body: { data: { ids: part } } })
    for (const id of data.readable) readable.add(id)
    for (const id of data.hidden) hidden.add(id)
  }
  return { readable, hidden }
}

const uuid = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi

/** Every UUID in a value: whatever assets it names are among them. */
export function idsIn(...values: readonly unknown[]): string[] {
  return (JSON.stringify(values).match(uuid) ?? []).map((id) => id.toLowerCase())
}
