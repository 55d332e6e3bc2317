import { join } from 'node:path'
import { DurableStore } from '@millwright/link-sdk/durable-store.ts'
import type { Device } from './device.ts'

/** `DeviceState` is what updates have changed on a device. It survives a kill of the link. */
export type DeviceState = {
  /** The firmware version that the device runs, if an update has changed it. */
  firmware?: string
  /** The firmware that is on the device, but not active. */
  prepared?: { jobId: string; version: string }
  /** How often the device has activated firmware. */
  activations: number
  /** The time at which a restart ends, in milliseconds since 1970. */
  unreachableUntilMs?: number
  /** The latest entries of the log of the device. */
  log: readonly { atMs: number; text: string }[]
}

const logEntries = 50
const unchanged: DeviceState = { activations: 0, log: [] }

/** The stores of this process, by the folder of the link. */
const stores = new Map<string | undefined, DurableStore<DeviceState>>()

function storeOf(home: string | undefined): DurableStore<DeviceState> {
  const open = stores.get(home)
  if (open !== undefined) return open
  const store = new DurableStore<DeviceState>(home === undefined ? undefined : join(home, 'devices'))
  stores.set(home, store)
  return store
}

export function stateOf({ serial }: Pick<Device, 'serial'>, home: string | undefined): DeviceState {
  return storeOf(home).get(serial) ?? unchanged
}

type Change = { home: string | undefined; entry: string; change?: (state: DeviceState) => DeviceState }

/** Changes the state of a device, and writes an entry to its log, in one step. */
export async function changeState(
  { serial }: Pick<Device, 'serial'>,
  { home, entry, change = (state) => state }: Change,
): Promise<void> {
  await storeOf(home).change(serial, (current = unchanged) => {
    const state = change(current)
    return { ...state, log: [...state.log, { atMs: Date.now(), text: entry }].slice(-logEntries) }
  })
}

/** Returns a device with the changes of its updates. A device that restarts does not respond. */
export function withState<One extends Device>(device: One, home: string | undefined): One {
  const store = storeOf(home)
  const state = store.size === 0 ? undefined : store.get(device.serial)
  if (state === undefined) return device
  const { firmware = device.firmware, unreachableUntilMs = 0 } = state
  return { ...device, firmware, isSilent: device.isSilent === true || Date.now() < unreachableUntilMs }
}
