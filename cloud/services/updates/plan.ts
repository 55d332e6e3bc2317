import type { InventoryDevice } from '@millwright/api/inventory/devices.ts'
import type { CampaignTargets, MaintenanceWindow, PlannedDevice, Wave } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { createYield } from '../../platform/event-loop.ts'
import type { Context } from '../../platform/service.ts'
import type { InstallableArtefact } from './compatibility.ts'
import { readTopology } from './device-topology.ts'
import { windowsOfAssets } from './node-windows.ts'
import { nextOpening, windowKey } from './open-window.ts'
import { type Assessment, assessDevices, readTargets, readUsableArtefacts } from './target-assessment.ts'
import type { ClusterKind } from './topology.ts'
import { orderTargets, type Placement } from './topology-order.ts'
import { waveNumbers } from './waves.ts'

export type PlanInput = {
  artefact: InstallableArtefact
  targets: CampaignTargets
  waves: readonly Wave[]
  window?: MaintenanceWindow | undefined
  allowsDowngrade: boolean
  /** The campaign of the plan. Its own devices do not count as devices of another campaign. */
  campaignId?: string | undefined
}

/** A device of a plan, with what the platform needs to update it. */
export type PlanRow = PlannedDevice & {
  accessGroupId: string
  gatewayId?: string
  assetLinkId?: string
  linkAssetId?: string
  /** Only one device of a group is updated at a time, in all campaigns. */
  group: string
  /** All assets that are redundant with the device. The caller may not be able to read those that are not targets. */
  redundant: string[]
  /** The windows of the nodes of the asset and of all nodes above. */
  windows: MaintenanceWindow[]
}

/**
 * Computes what a campaign would do with each target, and why. Targets that the caller cannot read are left out. The devices
 * that are updated come first, in their order. Nothing is changed.
 */
export async function computePlan(context: Context, caller: Caller, input: PlanInput): Promise<PlanRow[]> {
  const { artefact, targets, allowsDowngrade, campaignId } = input
  const withSoftware = artefact.kind === 'software'
  const devices = await readTargets(context, caller, { targets, withSoftware })
  const { manufacturer, kind } = artefact
  const others = await readUsableArtefacts(context, caller, { manufacturer, kind })
  const assessed = await assessDevices(context, caller, { artefact, devices, others, allowsDowngrade, campaignId })
  const updated = devices.filter(({ id }) => assessed.get(id)?.outcome === 'update').map(({ id }) => id)
  const [topology, windows] = await Promise.all([
    readTopology(context, caller, { assetIds: updated, direction: 'upstream' }),
    windowsOfAssets(context, caller, updated),
  ])
  const placements = orderTargets(topology, updated)
  const nextWindows = await openings(caller, input.window, [...windows.values()])
  return planRows(input, { devices, assessed, placements, windows, nextWindows })
}

type PlanParts = {
  devices: readonly InventoryDevice[]
  assessed: ReadonlyMap<string, Assessment>
  placements: ReadonlyMap<string, Placement>
  windows: ReadonlyMap<string, MaintenanceWindow[]>
  nextWindows: ReadonlyMap<string, Date | undefined>
}

function planRows(input: PlanInput, { devices, assessed, placements, windows, nextWindows }: PlanParts): PlanRow[] {
  const isUpdated = ({ id }: InventoryDevice) => placements.has(id)
  const sequence = inSequence(devices.filter(isUpdated), placements)
  const waves = waveNumbers(sequence.length, input.waves)
  const rowOf = (device: InventoryDevice, wave: number): PlanRow => {
    const { id, name, accessGroupId } = device
    const { outcome, reason, fromVersion, steps, link } = assessed.get(id) ?? { outcome: 'incompatible', steps: [] }
    const place = placements.get(id)
    const own = windows.get(id) ?? []
    const start = nextWindows.get(windowsKey(input.window, own))
    const shownReason = reason ?? orderReasons[place?.kind ?? 'single']
    return {
      assetId: id,
      ...(name === undefined ? {} : { assetName: name }),
      ...(fromVersion === undefined ? {} : { fromVersion }),
      toVersion: input.artefact.version,
      steps,
      wave,
      outcome,
      ...(shownReason === undefined ? {} : { reason: shownReason }),
      order: place?.order ?? 0,
      after: place?.after ?? [],
      notWith: place?.notWith ?? [],
      ...(place === undefined || start === undefined ? {} : { nextWindow: start.toISOString() }),
      accessGroupId,
      ...(link === undefined ? {} : pickLink(link)),
      group: place?.group ?? id,
      redundant: place?.redundant ?? [],
      windows: own,
    }
  }
  return [
    ...sequence.map((device, index) => rowOf(device, waves[index] ?? 1)),
    ...devices.filter((device) => !isUpdated(device)).map((device) => rowOf(device, 1)),
  ]
}

function pickLink({ gatewayId, assetLinkId, linkAssetId }: NonNullable<Assessment['link']>) {
  return { gatewayId, assetLinkId, linkAssetId }
}

/**
 * Returns the devices in the order in which waves take them: one group of connected devices after the other, and in each group
 * the downstream devices first. So the first waves complete some groups, and no wave contains a device before the devices that
 * must be done before it.
 */
function inSequence(devices: readonly InventoryDevice[], placements: ReadonlyMap<string, Placement>) {
  const positions = new Map<string, number>()
  const groupOf = ({ id }: InventoryDevice) => placements.get(id)?.connectedGroup ?? id
  const orderOf = ({ id }: InventoryDevice) => placements.get(id)?.order ?? 0
  for (const device of devices) if (!positions.has(groupOf(device))) positions.set(groupOf(device), positions.size)
  return devices.toSorted(
    (one, other) =>
      (positions.get(groupOf(one)) ?? 0) - (positions.get(groupOf(other)) ?? 0) || orderOf(one) - orderOf(other),
  )
}

const oneAtATime = 'Only one device of its group is updated at a time'
const orderReasons: Readonly<Record<ClusterKind, string | undefined>> = {
  single: undefined,
  ring: `The device is in a ring of connections. ${oneAtATime}`,
  'no-direction': `The direction of the connections of the device is not known. ${oneAtATime}`,
  contradiction: `The relations of the device contradict each other. ${oneAtATime}`,
  unexplored: `The device is connected to more assets than can be read. ${oneAtATime}`,
}

/** The maximum number of different sets of windows for which a plan contains the next time. */
const mostOpenings = 200

/** Returns the next time at which windows are open, by their key. Many devices have the same windows. */
async function openings(
  caller: Caller,
  campaignWindow: MaintenanceWindow | undefined,
  sets: readonly MaintenanceWindow[][],
): Promise<Map<string, Date | undefined>> {
  const yieldTurn = createYield(caller.tenantId)
  const at = new Date()
  const found = new Map<string, Date | undefined>()
  for (const windows of [[], ...sets]) {
    const all = campaignWindow === undefined ? windows : [campaignWindow, ...windows]
    const key = windowsKey(campaignWindow, windows)
    if (all.length === 0 || found.has(key) || found.size === mostOpenings) continue
    found.set(key, nextOpening(all, at))
    await yieldTurn()
  }
  return found
}

function windowsKey(campaignWindow: MaintenanceWindow | undefined, windows: readonly MaintenanceWindow[]): string {
  return [...(campaignWindow === undefined ? [] : [campaignWindow]), ...windows].map(windowKey).join('\n')
}
