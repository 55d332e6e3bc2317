import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from './access/caller.ts'
import { may } from './access/rights.ts'
import { systemCaller } from './access/system.ts'
import { storableText } from './database/json.ts'
import type { Context } from './service.ts'

/**
 * These functions return which assets, gateways and links a caller can read. Services use them for assets that they
 * reference but do not store. The inventory is queried each time, so a move to another access group takes effect at
 * once. No query is needed for a caller that can read all assets of the tenant.
 */

type VisibilityContext = Pick<Context, 'peers'>

export function readsAllAssets(caller: Pick<Caller, 'rights'>): boolean {
  return may(caller, 'inventory_read_asset_data')
}

/**
 * Returns the ids of the gateways that the caller can read. Null means all gateways, including gateways whose asset was
 * deleted.
 */
export async function readableGateways({ peers }: VisibilityContext, caller: Caller): Promise<string[] | null> {
  if (readsAllAssets(caller)) return null
  return (await peers(inventory, caller).listReadableGateways({})).data
}

export async function isReadableGateway(
  context: VisibilityContext,
  caller: Caller,
  gatewayId: string,
): Promise<boolean> {
  const gateways = await readableGateways(context, caller)
  return gateways === null || gateways.includes(gatewayId)
}

/**
 * Returns those of the ids whose assets the caller can read. A deleted asset is readable if its last access group is
 * readable.
 */
export async function readableAssets(
  context: VisibilityContext,
  caller: Caller,
  ids: readonly string[],
): Promise<Set<string>> {
  return readsAllAssets(caller) ? new Set(ids) : (await classify(context, caller, ids)).readable
}

/** Returns those of the ids whose assets the caller cannot read. */
export async function hiddenAssets(
  context: VisibilityContext,
  caller: Caller,
  ids: readonly string[],
): Promise<Set<string>> {
  return readsAllAssets(caller) ? new Set() : (await classify(context, caller, ids)).hidden
}

async function classify({ peers }: VisibilityContext, caller: Caller, ids: readonly string[]) {
  const readable = new Set<string>()
  const hidden = new Set<string>()
  for (const part of parts(ids)) {
    const { data } = await peers(inventory, caller).classifyAssets({ body: { data: { ids: part } } })
    for (const id of data.readable) readable.add(id)
    for (const id of data.hidden) hidden.add(id)
  }
  return { readable, hidden }
}

/** Returns those of the ids whose assets match a filter of the asset list now, and are readable for the caller. */
export async function matchingAssets(
  { peers }: VisibilityContext,
  caller: Caller,
  { filter, ids }: { filter: string; ids: readonly string[] },
): Promise<Set<string>> {
  const matching = new Set<string>()
  for (const part of parts(ids)) {
    const { data } = await peers(inventory, caller).filterAssets({ body: { data: { ids: part, filter } } })
    for (const id of data) matching.add(id)
  }
  return matching
}

type TenantOf = Pick<Caller, 'tenantId' | 'tenantName'>

/** Returns those of the ids whose assets were deleted. */
export function deletedAssets(
  context: VisibilityContext,
  tenant: TenantOf,
  ids: readonly string[],
): Promise<Set<string>> {
  return assetsWith(context, tenant, { ids, isIncluded: ({ isDeleted }) => isDeleted })
}

/** Returns those of the ids whose assets are in an access group now. A deleted asset is in its last group. */
export function assetsInGroup(
  context: VisibilityContext,
  tenant: TenantOf,
  { accessGroupId, ids }: { accessGroupId: string; ids: readonly string[] },
): Promise<Set<string>> {
  return assetsWith(context, tenant, { ids, isIncluded: (asset) => asset.accessGroupId === accessGroupId })
}

type DescribedAsset = { isDeleted: boolean; accessGroupId: string }
type AssetChoice = { ids: readonly string[]; isIncluded: (asset: DescribedAsset) => boolean }

/** Returns those of the ids whose assets are included. The platform reads all assets here. */
async function assetsWith(
  { peers }: VisibilityContext,
  { tenantId, tenantName }: TenantOf,
  { ids, isIncluded }: AssetChoice,
): Promise<Set<string>> {
  const client = peers(inventory, systemCaller({ tenantId, tenantName }))
  const included = new Set<string>()
  for (const part of parts(ids)) {
    const { data } = await client.describeAssets({ body: { data: { ids: part } } })
    for (const asset of data) if (isIncluded(asset)) included.add(asset.id)
  }
  return included
}

/** Throws the problem of a filter of the asset list that is not valid. `pointer` is its place in the request. */
export async function requireAssetFilter(
  { peers }: VisibilityContext,
  caller: Caller,
  { filter, pointer }: { filter: string; pointer: string },
): Promise<void> {
  try {
    requireStorableFilter(filter)
    await peers(inventory, caller).filterAssets({ body: { data: { ids: [], filter } } })
  } catch (error) {
    throw withFilterPointer(error, pointer)
  }
}

/** Throws for a filter that the database cannot store. */
export function requireStorableFilter(filter: string): void {
  if (storableText(filter) !== filter)
    throw new Problem('invalid_filter', 'The filter contains a NUL character or invalid Unicode')
}

/** Returns whether an error is the problem of a filter that is not valid. */
export function isFilterProblem(error: unknown): error is Problem {
  return error instanceof Problem && (error.code === 'invalid_filter' || error.code === 'unknown_property')
}

/** Adds the place of the filter in the request to a problem of the filter. Returns other errors unchanged. */
export function withFilterPointer(error: unknown, pointer: string): unknown {
  if (!isFilterProblem(error)) return error
  const errors = [{ pointer, code: error.code, detail: error.message }]
  return new Problem(error.code, error.message, { errors, cause: error })
}

/** Returns each id once, in lists that one request can contain. */
function parts(ids: readonly string[]): string[][] {
  const once = [...new Set(ids)]
  return Array.from({ length: Math.ceil(once.length / inventoryLimits.classified) }, (_, index) =>
    once.slice(index * inventoryLimits.classified, (index + 1) * inventoryLimits.classified),
  )
}

const uuid = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi

/** Returns every UUID in a value. The ids of all assets that the value names are among them. */
export function idsIn(...values: readonly unknown[]): string[] {
  return (JSON.stringify(values).match(uuid) ?? []).map((id) => id.toLowerCase())
}
