import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import {
  hiddenAssets,
  isReadableGateway,
  readableAssets,
  readableGateways,
  readsAllAssets,
} from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'
import { countFindings, listFoundAssets, type Outcome } from './finding-store.ts'
import { findLink, linkAssetsOf } from './link-store.ts'
import type { DiscoveryRow, RunRow, Scope } from './store.ts'

/**
 * Returns whether a caller can read a discovery: its gateway must be readable and its link must not be hidden. Write
 * operations also need the permission to run discoveries. Discovered assets are written with the permissions of the
 * gateway, not of the caller.
 */
export async function isReadable(
  context: Context,
  caller: Caller,
  { gatewayId, assetLinkId }: Pick<DiscoveryRow, 'gatewayId' | 'assetLinkId'>,
): Promise<boolean> {
  if (readsAllAssets(caller)) return true
  if (!(await isReadableGateway(context, caller, gatewayId))) return false
  const link = await context.database.read(caller, (handle) => findLink(handle, gatewayId, assetLinkId))
  return link === undefined || (await hiddenAssets(context, caller, [link.assetId])).size === 0
}

/** Returns which discoveries a list may show to the caller. `undefined` means all discoveries. */
export async function readableScope(context: Context, caller: Caller): Promise<Scope | undefined> {
  const gateways = await readableGateways(context, caller)
  if (gateways === null) return undefined
  const links = await context.database.read(caller, (handle) => linkAssetsOf(handle, gateways))
  return { gateways, hiddenLinks: [...(await hiddenAssets(context, caller, links))] }
}

export async function requireReadableGateway(context: Context, caller: Caller, gatewayId: string): Promise<void> {
  if (await isReadableGateway(context, caller, gatewayId)) return
  throw new Problem('not_found', `Gateway ${gatewayId} does not exist`)
}

/**
 * Returns the runs with counts of only those assets that the caller can read. `among` contains the ids of these assets;
 * `undefined` means all assets. One request checks the assets of all runs, because the runs of one discovery find
 * mostly the same assets.
 */
export async function readableRuns(
  context: Context,
  caller: Caller,
  runs: readonly RunRow[],
): Promise<{ runs: readonly RunRow[]; among: readonly string[] | undefined }> {
  if (readsAllAssets(caller)) return { runs, among: undefined }
  const ids = runs.map(({ id }) => id)
  const foundAssets = await context.database.read(caller, (handle) => listFoundAssets(handle, ids))
  const among = [...(await readableAssets(context, caller, foundAssets))]
  const counted = await context.database.read(caller, (handle) => countFindings(handle, ids, among))
  const shown = runs.map((run) => {
    const sumOf = (rows: typeof counted) => rows.reduce((sum, { count }) => sum + count, 0)
    const rowsOf = (outcome: Outcome) => counted.filter((one) => one.runId === run.id && one.outcome === outcome)
    const of = (outcome: Outcome) => sumOf(rowsOf(outcome))
    const [created, updated, unchanged, gone] = [of('new'), of('changed'), of('unchanged'), of('gone')]
    const newlyGone = sumOf(rowsOf('gone').filter(({ lastRun }) => (lastRun ?? run.comparedRun) === run.comparedRun))
    return { ...run, found: created + updated + unchanged, created, updated, unchanged, gone, newlyGone }
  })
  return { runs: shown, among }
}
