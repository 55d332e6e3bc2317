import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { DeviceCall, UpdateCall, UpdateStatus, Updates } from '@millwright/link-sdk/update.ts'
import { credentialsOfDevice, targetOfDevice } from '@millwright/link-sdk/update-target.ts'
import { administer, ask, type Device } from './device.ts'
import { changeState, type DeviceState, stateOf } from './device-state.ts'
import { FirmwareError, type FirmwareHeader, FirmwareReader } from './firmware.ts'
import { type Place, placeOf } from './place.ts'

/**
 * This file installs firmware on simulated devices. A device stores prepared firmware in addition to its current firmware. An
 * activation changes the firmware and the number of activations in one durable step, and then the device restarts.
 */

/** The percentage of the transfer at which the fault `fails-at-60` occurs. */
const failingPercent = 60
const percentPerStatus = 10

async function* prepare(call: UpdateCall): AsyncGenerator<UpdateStatus> {
  const { jobId, kind, home } = call
  const place = administeredPlace(call)
  const { device } = place
  yield { phase: 'prepare', message: `Connected to ${device.name}` }
  if (kind !== 'firmware') {
    yield { phase: 'prepare', state: 'not supported', message: 'The device installs only firmware.' }
    return
  }
  const header = yield* transfer(call, place)
  if (header === undefined) return
  const { version } = header
  await changeState(device, {
    home,
    entry: `Firmware ${version} prepared by job ${jobId}`,
    change: (state) => ({ ...state, prepared: { jobId, version } }),
  })
  yield { phase: 'installation', progress: 100, message: `Firmware ${version} is on the device` }
}

/** Transfers the firmware to the device. Returns its header, or undefined after a status with an error. */
async function* transfer(
  { content, home, signal }: UpdateCall,
  { device, fault, restartMs }: Place,
): AsyncGenerator<UpdateStatus, FirmwareHeader | undefined> {
  const reader = new FirmwareReader()
  let reported = 0
  try {
    for await (const chunk of content()) {
      reader.push(chunk)
      if (reader.header !== undefined) requireProduct(reader.header, device)
      const progress = reader.progress ?? 0
      if (fault === 'fails-at-60' && progress >= failingPercent) break
      while (progress >= reported + percentPerStatus) {
        reported += percentPerStatus
        if (fault === 'slow') await delay(restartMs, undefined, { signal })
        yield { phase: 'download', progress: reported, message: 'Transferring firmware' }
      }
    }
    if (fault !== 'fails-at-60') {
      const header = reader.end()
      requireProduct(header, device)
      return header
    }
    await changeState(device, { home, entry: `Transfer failed at ${failingPercent} %` })
    const message = 'The device stopped the transfer: its flash memory cannot be written.'
    yield { phase: 'download', state: 'failed', progress: failingPercent, message }
  } catch (error) {
    if (!(error instanceof FirmwareError)) throw error
    const state = error instanceof ProductError ? 'incompatible' : 'failed'
    yield { phase: 'installation', state, message: error.message }
  }
  return undefined
}

class ProductError extends FirmwareError {}

function requireProduct({ product }: FirmwareHeader, { name, article, productName }: Device): void {
  if ([article, productName].some((own) => own.toLowerCase() === product.toLowerCase())) return
  throw new ProductError(`The firmware is for ${product}, but ${name} is ${article}.`)
}

async function* activate(call: UpdateCall): AsyncGenerator<UpdateStatus> {
  const { jobId, home, signal } = call
  const { device, fault, restartMs, isActivatedWithoutAnswer } = administeredPlace(call)
  const { prepared } = stateOf(device, home)
  if (prepared?.jobId !== jobId) {
    throw new LinkError('FAILED_PRECONDITION', `Job ${jobId} has prepared no firmware.`)
  }
  yield { phase: 'activation', progress: 0, message: `Activating firmware ${prepared.version}` }
  // The job can be canceled, or another job can prepare other firmware, while the status is sent.
  if (fault !== 'no-answer' || isActivatedWithoutAnswer) {
    const version = fault === 'wrong-version' ? device.firmware : prepared.version
    await changeState(device, {
      home,
      entry: `Restart with firmware ${version}, job ${jobId}`,
      change: (state) => activated(state, { jobId, version, restartMs }),
    })
  }
  if (fault === 'no-answer') {
    await (signal.aborted ? undefined : once(signal, 'abort'))
    signal.throwIfAborted()
  }
  if (fault === 'reboots') {
    throw new LinkError('UNAVAILABLE', 'The device restarted, and the connection to it is lost.')
  }
  yield { phase: 'activation', progress: 50, message: `${device.name} restarts` }
  await delay(restartMs, undefined, { signal })
  yield { phase: 'activation', progress: 100, message: `${device.name} is running` }
}

type Activation = { jobId: string; version: string; restartMs: number }

function activated(state: DeviceState, { jobId, version, restartMs }: Activation): DeviceState {
  const { prepared, ...rest } = state
  if (prepared?.jobId !== jobId) {
    throw new LinkError('FAILED_PRECONDITION', `The firmware of job ${jobId} is no longer on the device.`)
  }
  return {
    ...rest,
    firmware: version,
    activations: state.activations + 1,
    unreachableUntilMs: Date.now() + restartMs,
  }
}

async function* cancel(call: DeviceCall): AsyncGenerator<UpdateStatus> {
  const { jobId, home } = call
  const { device } = administeredPlace(call)
  if (stateOf(device, home).prepared?.jobId === jobId) {
    await changeState(device, {
      home,
      entry: `Update canceled by job ${jobId}`,
      change: ({ prepared, ...rest }) =>
        prepared?.jobId === jobId || prepared === undefined ? rest : { ...rest, prepared },
    })
  }
  yield { phase: 'cancellation', progress: 100, message: 'The prepared firmware is removed' }
}

/** Reads the log file, a backup or the configuration of a device. */
async function* read(call: DeviceCall): AsyncGenerator<UpdateStatus | Uint8Array> {
  const { kind, home } = call
  const { device } = placeFor(call)
  ask(device, credentialsOfDevice(call))
  yield { phase: 'archive', message: `Connected to ${device.name}` }
  const text = textOf(kind, { device, state: stateOf(device, home) })
  if (text === undefined) {
    yield { phase: 'archive', state: 'not supported', message: `The device cannot be read as ${kind}.` }
    return
  }
  yield { phase: 'upload', progress: 0 }
  yield Buffer.from(text)
  yield { phase: 'upload', progress: 100 }
}

function textOf(
  kind: DeviceCall['kind'],
  { device, state }: { device: Device; state: DeviceState },
): string | undefined {
  const { name, vendor, article, serial, hardware, firmware, network, location, mode } = device
  const configuration = { name, network, location, mode }
  if (kind === 'logfile') {
    const lines = state.log.map(({ atMs, text }) => `${new Date(atMs).toISOString()} ${text}`)
    return [`Log of ${name}, ${vendor} ${article}, serial number ${serial}`, ...lines, ''].join('\n')
  }
  if (kind === 'configuration') return `${JSON.stringify(configuration, undefined, 2)}\n`
  if (kind !== 'backup') return undefined
  const nameplate = { vendor, article, serial, hardware, firmware, activations: state.activations }
  return `${JSON.stringify({ nameplate, configuration }, undefined, 2)}\n`
}

function administeredPlace(call: DeviceCall): Place {
  const place = placeFor(call)
  administer(place.device, credentialsOfDevice(call))
  return place
}

function placeFor(call: DeviceCall): Place {
  return placeOf(targetOfDevice(call), call.home)
}

export const update: Updates = { prepare, activate, cancel, read }
