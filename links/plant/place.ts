import type { JsonValue } from '@millwright/api/variant.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Device } from './device.ts'
import { withState } from './device-state.ts'
import { indexOf, isReferenceTarget, type NamedTarget } from './discover.ts'
import { type Fault, faultOf, isActivatedWithoutAnswer } from './fault.ts'
import { plantOfSeed } from './options.ts'
import { referenceDevices } from './reference.ts'
import { addressNumber, addressText, deviceAt, deviceOf, plantLimits, reachedThrough } from './simulator.ts'

/** `Place` is a device with the addresses at which it is reached, and its behaviour in updates. */
export type Place = {
  device: Device
  addresses: readonly string[]
  fault: Fault | undefined
  /** Whether the device activates an update although it does not answer. It applies to the fault `no-answer`. */
  isActivatedWithoutAnswer: boolean
  restartMs: number
}

/** Finds the device that a target names. */
export function placeOf(target: NamedTarget, home: string | undefined): Place {
  const place = findReference(target, home) ?? findInPlant(target, home)
  if (place === undefined) throw new LinkError('UNAVAILABLE', 'The device does not exist in the plant.')
  return { ...place, device: withState(place.device, home) }
}

function findReference(target: NamedTarget, home: string | undefined): Place | undefined {
  const reference = referenceDevices.find((one) => isReferenceTarget(target, one))
  const subDevice = target.address.subDeviceID ?? -1
  const device = typeof subDevice === 'number' && subDevice >= 0 ? reference?.subDevices[subDevice] : reference
  if (reference === undefined || device === undefined) return undefined
  const { restartMs } = plantOfSeed(0, home).updates
  return { device, addresses: [reference.network.ip], fault: undefined, isActivatedWithoutAnswer: false, restartMs }
}

/** Finds a device by its address or its identifiers, which contain the seed of the plant. */
function findInPlant(target: NamedTarget, home: string | undefined): Place | undefined {
  const named = target.identifiers.flatMap((one) => [one.mac_address, one.serial_number]).find((text) => deviceIn(text))
  const seed = typeof target.address.seed === 'number' ? target.address.seed : deviceIn(named)?.seed
  if (seed === undefined) return undefined
  const index = indexOf(target, { seed })
  if (index === undefined || index >= plantLimits.size) return undefined
  const plant = plantOfSeed(seed, home)
  return {
    device: deviceAt(plant, index),
    addresses: [addressText(addressNumber(reachedThrough(index)))],
    fault: faultOf({ seed, index }, plant.updates),
    isActivatedWithoutAnswer: isActivatedWithoutAnswer({ seed, index }),
    restartMs: plant.updates.restartMs,
  }
}

function deviceIn(text: JsonValue | undefined) {
  return typeof text === 'string' ? deviceOf(text) : undefined
}
