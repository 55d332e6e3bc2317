import { type DeviceState, finalDeviceStates, type MaintenanceWindow } from '@millwright/api/updates.ts'
import { isWindowOpen, nextStart, windowKey } from './open-window.ts'

/**
 * `readyDevices` decides which waiting devices of a campaign can start now. A device can start if
 * - it belongs to the current wave,
 * - all devices in `after` are final (a failed device does not block the devices that it depends on),
 * - no device in `notWith` and no other device of its group is being updated,
 * - the window of the campaign and all windows of the device are open,
 * - fewer than `concurrentDevices` devices of the campaign are being updated.
 *
 * The function only reads its arguments. The caller starts the devices, and calls it again after a change.
 */

export type QueuedDevice = {
  id: string
  assetId: string
  wave: number
  order: number
  /** Only one device of a group is updated at a time. A device without such a restriction has its own group. */
  group: string
  after: readonly string[]
  notWith: readonly string[]
  state: DeviceState
  /** Whether a waiting device has a job already. It then counts as a device that is being updated. */
  isStarted: boolean
  /** Whether the device cannot start now for another reason, for example because its gateway is offline. It has no cause then. */
  isBlocked?: boolean
  windows: readonly MaintenanceWindow[]
}

export type ReadyOptions = {
  at: Date
  wave: number
  concurrentDevices: number
  window?: MaintenanceWindow | undefined
}

/**
 * Why a device does not start: a device downstream is not final, a device that excludes it is being updated, a window is closed,
 * or the maximum number of devices is being updated.
 */
export type WaitCause = 'order' | 'exclusion' | 'window' | 'place'

export type ReadyDevices = {
  /** The ids of the devices that can start now, all at the same time, in the order in which they start. */
  ready: string[]
  /** The causes of the other devices of the wave that wait, by their id. */
  causes: Map<string, WaitCause>
  /**
   * The earliest time at which a device that waits only for its windows can start. Several windows can need more time until all
   * of them are open. Call the function again at this time.
   */
  nextAt?: Date
}

const finalStates: ReadonlySet<DeviceState> = new Set(finalDeviceStates)

export function readyDevices(devices: readonly QueuedDevice[], options: ReadyOptions): ReadyDevices {
  const { at, wave, concurrentDevices, window } = options
  const running = devices.filter(isRunning)
  const busyAssets = new Set(running.map(({ assetId }) => assetId))
  const busyGroups = new Set(running.map(({ group }) => group))
  // `notWith` applies in both directions, also if only one of the two devices names the other one.
  const blockedAssets = new Set(running.flatMap(({ notWith }) => notWith))
  const unfinished = new Set(
    devices.filter((device) => device.wave <= wave && !finalStates.has(device.state)).map(({ assetId }) => assetId),
  )
  const startOf = windowStarts(at)
  const openings: number[] = []
  const ready: string[] = []
  const causes = new Map<string, WaitCause>()
  let free = concurrentDevices - running.length
  for (const device of waitingOf(devices, wave)) {
    if (device.after.some((assetId) => unfinished.has(assetId))) {
      causes.set(device.id, 'order')
      continue
    }
    const isExcluded =
      busyGroups.has(device.group) ||
      blockedAssets.has(device.assetId) ||
      device.notWith.some((assetId) => busyAssets.has(assetId))
    if (isExcluded) {
      causes.set(device.id, 'exclusion')
      continue
    }
    const windows = window === undefined ? device.windows : [window, ...device.windows]
    const opening = Math.max(0, ...windows.map(startOf))
    if (opening > 0) {
      openings.push(opening)
      causes.set(device.id, 'window')
      continue
    }
    if (free <= 0) {
      causes.set(device.id, 'place')
      continue
    }
    free -= 1
    ready.push(device.id)
    busyAssets.add(device.assetId)
    busyGroups.add(device.group)
    for (const assetId of device.notWith) blockedAssets.add(assetId)
  }
  const nextMs = openings.reduce((least, opening) => Math.min(least, opening), Number.POSITIVE_INFINITY)
  return { ready, causes, ...(Number.isFinite(nextMs) ? { nextAt: new Date(nextMs) } : {}) }
}

function isRunning({ state, isStarted }: QueuedDevice): boolean {
  return state === 'waiting' ? isStarted : !finalStates.has(state)
}

/** Returns the waiting devices of a wave in the order in which they start. */
function waitingOf(devices: readonly QueuedDevice[], wave: number): QueuedDevice[] {
  return devices
    .filter(
      (device) => device.state === 'waiting' && !device.isStarted && device.isBlocked !== true && device.wave === wave,
    )
    .toSorted((one, other) => one.order - other.order || (one.id < other.id ? -1 : Number(one.id > other.id)))
}

/**
 * Returns a function for the next start of a closed window, in milliseconds. The start of an open window is 0. Many devices have
 * the same windows, so each is computed once.
 */
export function windowStarts(at: Date): (window: MaintenanceWindow) => number {
  const known = new Map<string, number>()
  return (window) => {
    const key = windowKey(window)
    const start =
      known.get(key) ?? (isWindowOpen(window, at) ? 0 : (nextStart(window, at)?.getTime() ?? Number.POSITIVE_INFINITY))
    known.set(key, start)
    return start
  }
}
