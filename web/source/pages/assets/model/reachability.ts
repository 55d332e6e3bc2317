import { evidenceLimitHours } from '@millwright/api/evidence.ts'
import { type Asset, textAt } from './asset.ts'

const hourMs = 3_600_000

/** Returns whether the last evidence of the reachability of an asset is recent enough to call the asset reachable. */
export function hasRecentEvidence(asset: Asset, now = Date.now()): boolean {
  const at = Date.parse(textAt(asset, 'reachability_state/state_timestamp'))
  return now - at <= evidenceLimitHours * hourMs
}
