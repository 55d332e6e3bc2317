import {
  type Campaign,
  type DeviceState,
  deviceStates,
  finalDeviceStates,
  type StateCounts,
} from '@millwright/api/updates.ts'

/** The states in which a device is being updated. */
const activeStates: readonly DeviceState[] = ['downloading', 'transferring', 'prepared', 'activating', 'verifying']

function sumOf(counts: StateCounts, states: readonly DeviceState[]): number {
  return states.reduce((sum, state) => sum + counts[state], 0)
}

/** Returns the numbers of devices in total, with a final state, being updated, and waiting. */
export function countsOf(counts: StateCounts) {
  return {
    total: sumOf(counts, deviceStates),
    done: sumOf(counts, finalDeviceStates),
    active: sumOf(counts, activeStates),
    waiting: counts.waiting,
  }
}

/** Returns the number of running campaigns, or undefined if the list does not contain all campaigns. */
export function runningCampaigns(
  campaigns: readonly Pick<Campaign, 'state'>[],
  { total, isFiltered }: { total: number; isFiltered: boolean },
): number | undefined {
  if (isFiltered || campaigns.length < total) return undefined
  return campaigns.filter(({ state }) => state === 'running').length
}
