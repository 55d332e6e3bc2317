import type { MonitoredState } from '@millwright/api/monitoring.ts'
import type { Tone } from '../../../components/values/status-chip.tsx'
import { type Asset, firmwareOf, textAt } from './asset.ts'
import { hasRecentEvidence } from './reachability.ts'

/** The conditions of an asset, the worst first. `unmonitored` is a device that no monitoring checks. */
export const conditions = ['failed', 'stopped', 'outdated', 'unknown', 'unmonitored', 'reached'] as const
export type Condition = (typeof conditions)[number]

export const conditionTones: Readonly<Record<Condition, Tone>> = {
  failed: 'bad',
  stopped: 'critical',
  outdated: 'warning',
  unknown: 'info',
  unmonitored: 'neutral',
  reached: 'good',
}

type ConditionSources = {
  /** The state of the asset in monitoring. It is undefined if no monitoring checks the asset. */
  monitored: MonitoredState | undefined
  /** The newest known firmware version of the product. */
  newestVersion: string | undefined
}

/** Returns all conditions of an asset, the worst first. Software and gateways have no reachability. */
export function conditionsOf(asset: Asset, { monitored, newestVersion }: ConditionSources): Condition[] {
  const found = new Set<Condition>()
  if (textAt(asset, 'reachability_state/state_value') === 'failed' && monitored === undefined) found.add('failed')
  else if (monitored !== undefined) found.add(monitored)
  else if (textAt(asset, 'functional_object_type') === 'Device') found.add('unmonitored')
  if (textAt(asset, 'operating_mode/mode_name') === 'stop') found.add('stopped')
  if (isOutdated(asset, newestVersion)) found.add('outdated')
  return conditions.filter((condition) => found.has(condition))
}

/** Returns whether the firmware of an asset is older than the newest known version of its product. */
export function isOutdated(asset: Asset, newestVersion: string | undefined): boolean {
  const version = firmwareOf(asset)
  return version !== '' && newestVersion !== undefined && newestVersion !== version
}

/**
 * Returns the time of the last known operating mode of a controller in stop, if no check reached the controller recently. The mode
 * can have changed since. Returns undefined if the mode is current.
 */
export function lastKnownStop(asset: Asset, now = Date.now()): string | undefined {
  const at = textAt(asset, 'reachability_state/state_timestamp')
  if (textAt(asset, 'operating_mode/mode_name') !== 'stop' || at === '') return undefined
  const isCurrent = textAt(asset, 'reachability_state/state_value') === 'reached' && hasRecentEvidence(asset, now)
  return isCurrent ? undefined : at
}
