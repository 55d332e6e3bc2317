import type { VariantValue } from '@millwright/api/variant.ts'
import type { PropertiesCall, PropertyValues, SupportedProperty } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { readAt } from './contact.ts'
import type { Interface, Reading } from './device.ts'
import { assetsOf, loginsFor, noAnswer, placeOf } from './discover.ts'
import { forgetKeys } from './session.ts'
import { readSettings } from './settings.ts'

const usualPort = 161

/** The properties that contain data of LLDP and bridge tables. Other properties are read without these tables. */
const neighbourKeys = ['asset_identifiers', 'asset_relations']

/** Reads one device: all fields of its asset, and its uptime, contact and interface states. */
export async function properties({ device: target, keys, ...context }: PropertiesCall): Promise<PropertyValues> {
  const found = await placeOf(target)
  if (found === undefined) {
    throw new LinkError('UNAVAILABLE', 'The address of the device is not known. Discover the device again.')
  }
  const place = { address: found.address, port: found.port ?? usualPort }
  const settings = {
    ...readSettings,
    withNeighbours: keys.length === 0 || keys.some((key) => neighbourKeys.includes(key)),
  }
  try {
    const reading = await readAt(place, loginsFor({ target, isNamed: true }), { ...context, settings })
    if (reading === undefined) throw noAnswer(place)
    const { asset, modules } = await assetsOf(reading, place.address)
    const module = modules.find(({ index }) => index === found.entity)
    if (module !== undefined) return defined(module.asset as Record<string, VariantValue>)
    return { ...defined(asset as Record<string, VariantValue>), ...statesOf(reading) }
  } finally {
    forgetKeys()
  }
}

export function supportedProperties(): SupportedProperty[] {
  const texts = ['name', 'description', 'functional_object_type', 'functional_object_schema_url', 'contact']
  const arrays = ['asset_relations', 'connection_points', 'software_components', 'location', 'interface_states']
  return [
    ...texts.map((key) => ({ key, type: 'text' as const })),
    ...['asset_identifiers', ...arrays].map((key) => ({ key, type: 'array' as const })),
    { key: 'product_instance_information', type: 'structure' },
    { key: 'uptime_seconds', type: 'integer' },
  ]
}

function defined(values: Readonly<Record<string, VariantValue | undefined>>): PropertyValues {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

function statesOf({ system, interfaces }: Reading): PropertyValues {
  return {
    ...(system.upTime === undefined ? {} : { uptime_seconds: Math.floor(system.upTime / 100) }),
    ...(system.contact === undefined ? {} : { contact: system.contact }),
    interface_states: interfaces.map(stateOf),
  }
}

/** The states of an interface by their number in IF-MIB. */
const states = ['', 'up', 'down', 'testing', 'unknown', 'dormant', 'notPresent', 'lowerLayerDown'] as const

function stateOf({ name, adminStatus, operStatus }: Interface): VariantValue {
  return {
    name,
    administrative_state: states[adminStatus ?? 0] ?? '',
    operational_state: states[operStatus ?? 0] ?? '',
  }
}
