import { type Asset, textAt } from '../../assets/model/asset.ts'
import type { Condition } from '../../assets/model/condition.ts'

/**
 * Returns the time at which a scan last found a device that no monitoring checks. Returns undefined if the device has another
 * condition, or if no scan has found it.
 */
export function foundTime(asset: Asset, [worst]: readonly Condition[]): string | undefined {
  if (worst !== 'unmonitored' || textAt(asset, 'reachability_state/state_value') !== 'reached') return undefined
  return textAt(asset, 'reachability_state/state_timestamp') || undefined
}
