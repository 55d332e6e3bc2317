import { type DeviceState, deviceStates, finalDeviceStates, type StateCounts } from '@millwright/api/updates.ts'

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
