import type { Tone } from '../../../components/values/status-chip.tsx'
import { type Asset, textAt } from '../../assets/model/asset.ts'
import type { Condition } from '../../assets/model/condition.ts'
import { hasRecentEvidence } from '../../assets/model/reachability.ts'

/**
 * Returns the time at which a scan last found a device that no monitoring checks. Returns undefined if the device has another
 * condition, or if no scan has found it.
 */
export function foundTime(asset: Asset, [worst]: readonly Condition[]): string | undefined {
  if (worst !== 'unmonitored' || textAt(asset, 'reachability_state/state_value') !== 'reached') return undefined
  return textAt(asset, 'reachability_state/state_timestamp') || undefined
}

const freshMs = 3_600_000

/** Returns the tone of a device that a scan found at a time: only a contact in the last hour shows that the device is reachable now. */
export function contactTone(asset: Asset, foundAt: string, now = Date.now()): Tone {
  if (now - Date.parse(foundAt) <= freshMs) return 'good'
  return hasRecentEvidence(asset, now) ? 'neutral' : 'warning'
}
