import { join } from 'node:path'
import { withCredentials } from '@millwright/link-sdk/credential.ts'
import { DurableStore } from '@millwright/link-sdk/durable-store.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { DeviceCall, UpdateCall, UpdateStatus, Updates } from '@millwright/link-sdk/update.ts'
import { credentialsOfDevice, targetOfDevice } from '@millwright/link-sdk/update-target.ts'
import { type FirmwareMemory, findDevices, isTarget } from './device.ts'
import { simulatedDevices } from './simulator.ts'

/**
 * This file installs firmware on devices. If your devices cannot be updated, remove this file, and `update` in link.ts.
 *
 * `discover` returns no metadata, so the gateway names the device of an update by its address and its identifiers.
 */

/** Transfers the firmware to the memory of the device. The device still runs its current firmware. */
async function* prepare(call: UpdateCall): AsyncGenerator<UpdateStatus> {
  const { mac, memory } = await firmwareOf(call)
  if (call.kind !== 'firmware') {
    // A status with an error ends the call. Its message is shown to users.
    yield { phase: 'prepare', state: 'not supported', message: `The device cannot install a ${call.kind}.` }
    return
  }
  yield { phase: 'prepare', message: 'Connected to the device' }
  await jobsOf(call).delete(keyOf(mac))
  await memory.erase()
  let bytes = 0
  // The content arrives in chunks. Send each chunk to the device, so that the artefact is never in memory as a whole.
  for await (const chunk of call.content()) {
    await memory.write(chunk)
    bytes += chunk.length
    yield { phase: 'download', message: `${bytes} bytes transferred` }
  }
  const version = await memory.check()
  if (version === undefined) {
    await memory.erase()
    yield { phase: 'installation', state: 'incompatible', message: 'The artefact is not firmware for this device.' }
    return
  }
  // The job is stored in a file, so that it can be activated after a restart of the link.
  await jobsOf(call).set(keyOf(mac), call.jobId)
  yield { phase: 'installation', progress: 100, message: `Firmware ${version} is on the device` }
}

/** Starts the device with the firmware that the same job has prepared. */
async function* activate(call: UpdateCall): AsyncGenerator<UpdateStatus> {
  const { mac, memory } = await firmwareOf(call)
  if (jobsOf(call).get(keyOf(mac)) !== call.jobId) {
    throw new LinkError('FAILED_PRECONDITION', 'The job has prepared no firmware on this device.')
  }
  yield { phase: 'activation', progress: 0, message: 'The device restarts' }
  // The job is removed before the restart, so that a repeated call never restarts the device a second time.
  await jobsOf(call).delete(keyOf(mac))
  await memory.start()
  yield { phase: 'activation', progress: 100, message: 'The device runs the new firmware' }
}

/** Removes the prepared firmware. */
async function* cancel(call: DeviceCall): AsyncGenerator<UpdateStatus> {
  const { mac, memory } = await firmwareOf(call)
  if (jobsOf(call).get(keyOf(mac)) === call.jobId) {
    await jobsOf(call).delete(keyOf(mac))
    await memory.erase()
  }
  yield { phase: 'cancellation', progress: 100 }
}

// To read log files, backups or configurations from devices, add `read`. It yields statuses and the bytes of the artefact.
export const update: Updates = { prepare, activate, cancel }

async function firmwareOf(call: DeviceCall): Promise<{ mac: string; memory: FirmwareMemory }> {
  const target = targetOfDevice(call)
  for await (const contact of findDevices(simulatedDevices, call.signal)) {
    if (!isTarget(contact, target)) continue
    const memory = await withCredentials(credentialsOfDevice(call), contact.firmware)
    return { mac: contact.mac, memory }
  }
  throw new LinkError('UNAVAILABLE', 'The device does not exist.')
}

/** The ids of the jobs that have prepared a device. There is one store for each folder of the link. */
const stores = new Map<string | undefined, DurableStore<string>>()

function jobsOf({ home }: DeviceCall): DurableStore<string> {
  const store = stores.get(home) ?? new DurableStore<string>(home === undefined ? undefined : join(home, 'jobs'))
  stores.set(home, store)
  return store
}

function keyOf(mac: string): string {
  return mac.replaceAll(':', '-')
}
