import { shortened } from './device-state.ts'
import type { DeviceRow, StartedElsewhere } from './device-store.ts'

/**
 * The rules for devices that are not updated at the same time also apply between the campaigns of a tenant. A device does not
 * start while a device of another campaign is being updated that is redundant with it, or that belongs to the same group of
 * devices without an order. The reason names the other campaign, because all callers that read campaigns can read its name. It does
 * not name the other asset, because a caller that reads this device may not be able to read that asset.
 */

type Exclusion = Pick<DeviceRow, 'assetId' | 'group' | 'notWith'>

/** Returns a function for the reason why a device cannot start while these devices of other campaigns are updated. */
export function conflictsWith(others: readonly StartedElsewhere[]): (device: Exclusion) => string | undefined {
  const byAsset = new Map(others.map((other) => [other.assetId, other]))
  const byGroup = new Map(others.map((other) => [other.group, other]))
  // `notWith` applies in both directions, also if only one of the two devices names the other one.
  const byRedundant = new Map(others.flatMap((other) => other.notWith.map((assetId) => [assetId, other] as const)))
  return ({ assetId, group, notWith }) => {
    const named = notWith.find((other) => byAsset.has(other))
    const redundant = byRedundant.get(assetId) ?? (named === undefined ? undefined : byAsset.get(named))
    if (redundant !== undefined) return reasonOf('a redundant device', redundant)
    const connected = byGroup.get(group)
    return connected === undefined ? undefined : reasonOf('another device of the same connected group', connected)
  }
}

function reasonOf(device: string, { campaignName }: StartedElsewhere): string {
  return shortened(`Waits until ${device} in the campaign ${campaignName} is updated`)
}
