import {
  type CampaignAction,
  type CampaignState,
  type DeviceState,
  deviceStates,
  type StateCounts,
} from '@millwright/api/updates.ts'
import type { CampaignRow, StateCount } from './campaign-store.ts'
import { isFinalState } from './device-state.ts'

/** The rules of campaigns as functions over the counts of their devices. */

export type WaveCount = Pick<StateCount, 'wave' | 'state' | 'devices'>

export function isEnded(state: CampaignState): boolean {
  return state === 'finished' || state === 'canceled'
}

export function emptyCounts(): StateCounts {
  return Object.fromEntries(deviceStates.map((state) => [state, 0])) as StateCounts
}

/** Adds the counts of waves. */
export function totalCounts(counts: readonly WaveCount[]): StateCounts {
  const total = emptyCounts()
  for (const { state, devices } of counts) total[state] += devices
  return total
}

export function countsByWave(counts: readonly WaveCount[]): { wave: number; counts: StateCounts }[] {
  return [...Map.groupBy(counts, ({ wave }) => wave)]
    .toSorted(([one], [other]) => one - other)
    .map(([wave, ofWave]) => ({ wave, counts: totalCounts(ofWave) }))
}

/** Returns the current wave: the first one with devices that are not final. Returns undefined if all devices are final. */
export function currentWave(counts: readonly WaveCount[]): number | undefined {
  const open = counts.filter(({ state, devices }) => devices > 0 && !isFinalState(state)).map(({ wave }) => wave)
  return open.length === 0 ? undefined : Math.min(...open)
}

export function failuresByWave(counts: readonly WaveCount[]): Record<string, number> {
  const failures: Record<string, number> = {}
  for (const { wave, state, devices } of counts)
    if (state === 'failed' || state === 'unknown') failures[wave] = (failures[wave] ?? 0) + devices
  return failures
}

/**
 * Returns the wave whose failures stop the campaign. More than `stopOnFailurePercent` of the devices of the wave that are
 * updated have failed or are unknown. Failures that a person accepted when the campaign was resumed do not stop it again.
 */
export function stoppedWave(
  { stopOnFailurePercent, tolerated }: Pick<CampaignRow, 'stopOnFailurePercent' | 'tolerated'>,
  counts: readonly WaveCount[],
): number | undefined {
  const failuresOf = failuresByWave(counts)
  for (const { wave, counts: ofWave } of countsByWave(counts)) {
    const failures = failuresOf[wave] ?? 0
    const devices = deviceStates.reduce((sum, state) => sum + (state === 'skipped' ? 0 : ofWave[state]), 0)
    if (failures > (tolerated[wave] ?? 0) && failures * 100 > stopOnFailurePercent * devices) return wave
  }
  return undefined
}

/** Returns the progress of a campaign in percent: the part of its devices that are final. */
export function progressOf(counts: readonly WaveCount[]): number {
  const total = counts.reduce((sum, { devices }) => sum + devices, 0)
  const final = counts.reduce((sum, { state, devices }) => sum + (isFinalState(state) ? devices : 0), 0)
  return total === 0 ? 0 : Math.floor((final * 100) / total)
}

/** The actions that are possible in each state. */
const actionsByState: Readonly<Record<CampaignState, readonly CampaignAction[]>> = {
  draft: ['plan', 'edit', 'start', 'delete'],
  'pending-approval': ['approve', 'cancel'],
  running: ['pause', 'cancel', 'retry'],
  paused: ['resume', 'cancel', 'retry'],
  stopped: ['resume', 'cancel', 'retry'],
  finished: ['retry', 'delete'],
  canceled: ['delete'],
}

/** Returns the actions that are possible for a campaign with these devices. */
export function possibleActions(state: CampaignState, counts: StateCounts): CampaignAction[] {
  const isOpen = Object.entries(counts).some(([name, devices]) => devices > 0 && !isFinalState(name as DeviceState))
  return actionsByState[state].filter((action) => {
    if (action === 'retry') return counts.failed + counts.unknown + counts.canceled > 0
    return action !== 'delete' || !isOpen
  })
}
