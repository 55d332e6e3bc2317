import { type Asset, textAt } from './asset.ts'

/**
 * The age up to which a check by monitoring or by a scan proves that a device is reachable. After this time, the console only shows
 * when the device was last seen.
 */
export const evidenceLimitHours = 24

const hourMs = 3_600_000

/** Returns whether the last evidence of the reachability of an asset is recent enough to call the asset reachable. */
export function hasRecentEvidence(asset: Asset, now = Date.now()): boolean {
  const at = Date.parse(textAt(asset, 'reachability_state/state_timestamp'))
  return now - at <= evidenceLimitHours * hourMs
}
