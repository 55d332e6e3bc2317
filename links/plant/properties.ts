import type { VariantValue } from '@millwright/api/variant.ts'
import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { requireNamedAddress } from '@millwright/link-sdk/network/known-devices.ts'
import { assetOf } from './asset.ts'
import { ask, type Device } from './device.ts'
import { stateOf } from './device-state.ts'
import { placeOf } from './place.ts'

/** Reads all asset fields and the diagnostic values of a device. */
export function properties({ device: target, home }: PlantCall): PropertyValues {
  const device = ask(addressed(target, home), target.credentials)
  return {
    ...(assetOf(device) as Record<string, VariantValue>),
    diagnostics: diagnosticsOf(device),
    [activationsKey]: stateOf(device, home).activations,
  }
}

type PlantCall = Pick<PropertiesCall, 'device' | 'home'>

/** The property that contains how often a device has activated firmware. */
export const activationsKey = 'update.activations'

export function supportedProperties({ device, home }: PlantCall): SupportedProperty[] {
  ask(addressed(device, home), device.credentials)
  const texts = ['name', 'description', 'functional_object_type', 'functional_object_schema_url']
  const structures = ['product_instance_information', 'operating_mode', 'diagnostics']
  const arrays = ['asset_identifiers', 'asset_operations', 'asset_relations', 'connection_points', 'location']
  return [
    ...texts.map((key) => ({ key, type: 'text' as const })),
    ...structures.map((key) => ({ key, type: 'structure' as const })),
    ...[...arrays, 'software_components'].map((key) => ({ key, type: 'array' as const })),
    { key: activationsKey, type: 'integer' },
  ]
}

/** Finds a device. Credentials are used only for the IP address that the call names. */
function addressed(target: Target, home: string | undefined): Device {
  const { device, addresses } = placeOf(target, home)
  if (target.credentials.length === 0) return device
  const { ip_address, ipAddress = ip_address ?? null } = target.address
  requireNamedAddress({ address: { ip_address: ipAddress } })
  if (addresses.some((address) => address === ipAddress)) return device
  throw new LinkError(
    'UNAVAILABLE',
    `${device.name} is not at ${ipAddress}. Credentials are sent only to the address that the call names.`,
  )
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
