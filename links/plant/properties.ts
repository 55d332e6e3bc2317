import type { JsonValue, VariantValue } from '@millwright/api/variant.ts'
import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { requireNamedAddress } from '@millwright/link-sdk/network/known-devices.ts'
import { assetOf } from './asset.ts'
import { ask, type Device } from './device.ts'
import { indexOf, isReferenceTarget } from './discover.ts'
import { plantOfSeed } from './options.ts'
import { referenceDevices } from './reference.ts'
import { addressNumber, addressText, deviceAt, deviceOf, plantLimits, reachedThrough } from './simulator.ts'

/** Reads all asset fields and the diagnostic values of a device. */
export function properties({ device: target }: Pick<PropertiesCall, 'device'>): PropertyValues {
  const device = ask(addressed(target), target.credentials)
  return { ...(assetOf(device) as Record<string, VariantValue>), diagnostics: diagnosticsOf(device) }
}

export function supportedProperties({ device }: Pick<PropertiesCall, 'device'>): SupportedProperty[] {
  ask(addressed(device), device.credentials)
  const texts = ['name', 'description', 'functional_object_type', 'functional_object_schema_url']
  const structures = ['product_instance_information', 'operating_mode', 'diagnostics']
  const arrays = ['asset_identifiers', 'asset_operations', 'asset_relations', 'connection_points', 'location']
  return [
    ...texts.map((key) => ({ key, type: 'text' as const })),
    ...structures.map((key) => ({ key, type: 'structure' as const })),
    ...[...arrays, 'software_components'].map((key) => ({ key, type: 'array' as const })),
  ]
}

/** Finds a device. Credentials are used only for the IP address that the call names. */
function addressed(target: Target): Device {
  const place = findReference(target) ?? findInPlant(target)
  if (place === undefined) throw new LinkError('UNAVAILABLE', 'The device does not exist in the plant.')
  const { device, addresses } = place
  if (target.credentials.length === 0) return device
  const { ip_address, ipAddress = ip_address ?? null } = target.address
  requireNamedAddress({ address: { ip_address: ipAddress } })
  if (addresses.some((address) => address === ipAddress)) return device
  throw new LinkError(
    'UNAVAILABLE',
    `${device.name} is not at ${ipAddress}. Credentials are sent only to the address that the call names.`,
  )
}

/** `Place` is a device with the addresses at which it is reached. */
type Place = { device: Device; addresses: readonly string[] }

function findReference(target: Target): Place | undefined {
  const reference = referenceDevices.find((one) => isReferenceTarget(target, one))
  const subDevice = target.address.subDeviceID ?? -1
  const device = typeof subDevice === 'number' && subDevice >= 0 ? reference?.subDevices[subDevice] : reference
  return reference === undefined || device === undefined ? undefined : { device, addresses: [reference.network.ip] }
}

/** Finds a device by its address or its identifiers, which contain the seed of the plant. */
function findInPlant(target: Target): Place | undefined {
  const named = target.identifiers.flatMap((one) => [one.mac_address, one.serial_number]).find((text) => deviceIn(text))
  const seed = typeof target.address.seed === 'number' ? target.address.seed : deviceIn(named)?.seed
  if (seed === undefined) return undefined
  const index = indexOf(target, { seed })
  if (index === undefined || index >= plantLimits.size) return undefined
  const address = addressText(addressNumber(reachedThrough(index)))
  return { device: deviceAt(plantOfSeed(seed), index), addresses: [address] }
}

function deviceIn(text: JsonValue | undefined) {
  return typeof text === 'string' ? deviceOf(text) : undefined
}

function diagnosticsOf({ serial, mode, needs }: Device): VariantValue {
  const number = Number.parseInt(serial.slice(-4), 16)
  return {
    temperature_celsius: 30 + (number % 250) / 10,
    operating_hours: 1_000 + number,
    is_running: mode !== 'stop',
    is_protected: needs.read,
  }
}
