import { credentials } from '@millwright/api/credentials.ts'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { MonitoringTargets } from '@millwright/api/monitoring.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDenied, permissionDeniedIn } from '../../platform/access/permission-denied.ts'
import { may, mayIn } from '../../platform/access/rights.ts'
import { requireStepUp } from '../../platform/access/step-up.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { hiddenAssets, idsIn, readableAssets, requireAssetFilter } from '../../platform/asset-visibility.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import type { Context } from '../../platform/service.ts'

/**
 * The rights for monitoring tasks. Every caller with `glb_jobs_read` sees the monitoring tasks of the tenant, but only the assets that
 * it can read. A monitoring task reads and writes assets with the rights that its owner has at that time.
 */

const read = 'inventory_read_asset_data'
const write = 'inventory_write_asset_data'
/** The permission of `POST /assets/{assetId}/instances/{instanceId}`. */
const assign = 'glb_credential_write'

/** Returns whether a caller can monitor the assets of an access group. The reachability state is a field of the asset. */
export function mayMonitor(caller: Pick<Caller, 'rights'>, accessGroupId: string): boolean {
  return mayIn(caller, read, accessGroupId) && mayIn(caller, write, accessGroupId)
}

/** Returns whether a caller can assign credentials to assets. */
export function mayAssign(caller: Pick<Caller, 'rights'>): boolean {
  return may(caller, assign)
}

/** The maximum number of missing targets that an error names. */
const namedTargets = 20

/** Requires that a filter is valid, and that the caller can monitor all listed assets. */
export async function requireTargets(context: Context, caller: Caller, targets: MonitoringTargets): Promise<void> {
  if ('filter' in targets)
    return requireAssetFilter(context, caller, { filter: targets.filter, pointer: '/data/targets/filter' })
  const groups = await groupsOf(context, caller, targets.assetIds)
  const errors = targets.assetIds.flatMap((id, index) => {
    const group = groups.get(id)
    if (group !== undefined && mayIn(caller, read, group)) return []
    return [
      { pointer: `/data/targets/assetIds/${index}`, code: 'asset_not_found', detail: `Asset ${id} does not exist` },
    ]
  })
  const [first] = errors
  if (first !== undefined) {
    const all = `${first.detail}. Remove the ${errors.length} targets that do not exist`
    throw new Problem('asset_not_found', errors.length === 1 ? first.detail : all, {
      errors: errors.slice(0, namedTargets),
    })
  }
  const refused = targets.assetIds.findIndex((id) => !mayIn(caller, write, groups.get(id) ?? ''))
  if (refused < 0) return
  const accessGroupId = groups.get(targets.assetIds[refused] ?? '') ?? ''
  const pointer = `/data/targets/assetIds/${refused}`
  throw await context.database.read(caller, (handle) =>
    permissionDeniedIn(handle, caller, { permission: write, accessGroupId, pointer }),
  )
}

/** Returns the access groups of those assets that exist. */
async function groupsOf({ peers }: Context, caller: Caller, ids: readonly string[]): Promise<Map<string, string>> {
  const groups = new Map<string, string>()
  for (let start = 0; start < ids.length; start += inventoryLimits.classified) {
    const part = ids.slice(start, start + inventoryLimits.classified)
    const { data } = await peers(inventory, systemCaller(caller)).describeAssets({ body: { data: { ids: part } } })
    for (const { id, accessGroupId, isDeleted } of data) if (!isDeleted) groups.set(id, accessGroupId)
  }
  return groups
}

/** Requires that the instances template exists. */
export async function requireTemplate({ peers }: Context, caller: Caller, templateId: string): Promise<void> {
  try {
    await peers(credentials, systemCaller(caller)).getInstancesTemplate({
      params: { instancesTemplateId: templateId },
    })
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'not_found') throw error
    throw fieldProblem('invalid_reference', '/data/instancesTemplateId', error.message)
  }
}

/** Requires the rights to assign credentials, as `POST /assets/{assetId}/instances/{instanceId}` does. */
export async function requireAssignment(
  { database }: Context,
  caller: Caller,
  templateId: string | null,
): Promise<void> {
  if (templateId === null)
    throw fieldProblem(
      'invalid_body',
      '/data/assignWorking',
      'assignWorking requires an instances template. Set instancesTemplateId too',
    )
  if (!mayAssign(caller)) throw permissionDenied({ permission: assign, pointer: '/data/assignWorking' })
  await database.read(caller, (handle) => requireStepUp(handle, caller, 'credentials'))
}

/** Returns the targets without the assets that the caller cannot read. */
export async function visibleTargets(
  context: Pick<Context, 'peers'>,
  caller: Caller,
  targets: MonitoringTargets,
): Promise<MonitoringTargets> {
  if ('assetIds' in targets) {
    const readable = await readableAssets(context, caller, targets.assetIds)
    return { assetIds: targets.assetIds.filter((id) => readable.has(id)) }
  }
  const isHidden = (await hiddenAssets(context, caller, idsIn(targets.filter))).size > 0
  return isHidden ? { assetIds: [] } : targets
}

export function missingMonitoring(id: string): Problem {
  return new Problem('not_found', `Monitoring task ${id} does not exist`)
}
