import { hierarchy } from '@millwright/api/hierarchy.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDenied, permissionDeniedIn } from '../../platform/access/permission-denied.ts'
import { isVisibleGroup, may, mayIn } from '../../platform/access/rights.ts'
import { findAccessGroup, findNames } from '../../platform/access/store.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import type { Context } from '../../platform/service.ts'

/** The access group and the node into which assets are onboarded. */
export type Target = { accessGroupId?: string | null | undefined; nodeId?: string | null | undefined }

const writeAssets = 'inventory_write_asset_data'
/** The permissions to assign assets to a node. */
const assignment = ['glb_hierarchy_read', 'glb_hierarchy_write', 'glb_inventory_write_relation_data'] as const

/** Throws unless the target exists and the caller may onboard assets into it. `pointer` is its place in the request. */
export async function requireTarget(
  { database, peers }: Context,
  caller: Caller,
  { accessGroupId, nodeId }: Target,
  pointer = '/data',
): Promise<void> {
  if (accessGroupId !== undefined && accessGroupId !== null) {
    await database.read(caller, async (handle) => {
      const group = await findAccessGroup(handle, accessGroupId)
      const field = `${pointer}/accessGroupId`
      if (group === undefined || !isVisibleGroup(caller.rights, accessGroupId))
        throw fieldProblem('access_group_not_found', field, `The access group ${accessGroupId} does not exist`)
      if (!mayIn(caller, writeAssets, accessGroupId))
        throw await permissionDeniedIn(handle, caller, { permission: writeAssets, accessGroupId, pointer: field })
    })
  }
  if (nodeId === undefined || nodeId === null) return
  const field = `${pointer}/nodeId`
  const missing = assignment.find((permission) => !may(caller, permission))
  if (missing !== undefined) throw permissionDenied({ permission: missing, pointer: field })
  try {
    await peers(hierarchy, caller).readPath({ params: { id: nodeId } })
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'not_found') throw error
    throw fieldProblem('node_not_found', field, `The node ${nodeId} does not exist`)
  }
}

export type TargetNames = { accessGroup?: string; nodePath?: string[] }

/** Returns the names of targets, in the order of the targets. What the caller cannot read has no name. */
export async function namesOfTargets(
  { database, peers }: Context,
  caller: Caller,
  targets: readonly Target[],
): Promise<TargetNames[]> {
  const groupIds = [...new Set(targets.flatMap(({ accessGroupId }) => accessGroupId ?? []))]
  const groups = await database.read(caller, (handle) =>
    findNames(
      handle,
      groupIds.filter((id) => isVisibleGroup(caller.rights, id)),
    ),
  )
  const nodeIds = may(caller, 'glb_hierarchy_read') ? [...new Set(targets.flatMap(({ nodeId }) => nodeId ?? []))] : []
  const described =
    nodeIds.length === 0 ? [] : (await peers(hierarchy, caller).describeNodePaths({ body: { data: { nodeIds } } })).data
  // The first name is the name of the hierarchy.
  const paths = new Map(described.map(({ nodeId, names }) => [nodeId, names.slice(1)]))
  return targets.map(({ accessGroupId, nodeId }) => {
    const accessGroup = groups.get(accessGroupId ?? '')
    const nodePath = paths.get(nodeId ?? '')
    return { ...(accessGroup === undefined ? {} : { accessGroup }), ...(nodePath === undefined ? {} : { nodePath }) }
  })
}
