import type { DiscoveredDevice } from '@millwright/api/proto/generated/discover_pb.js'
import type { DeviceIdentifier } from '@millwright/api/proto/generated/identifiers_pb.js'

/** `DeviceValue` is one value of a device, with its path in the asset. */
export type DeviceValue = { path: string; classifier: string; value: DeviceIdentifier['value'] }

/** Returns all values of a device in order. Containers are included in addition to the values that they contain. */
export function valuesOf({ identifiers }: DiscoveredDevice): DeviceValue[] {
  return identifiers.flatMap(valuesIn)
}

function valuesIn(identifier: DeviceIdentifier): DeviceValue[] {
  const { value } = identifier
  const children = value.case === 'children' ? value.value.value.flatMap(valuesIn) : []
  return [deviceValue(identifier), ...children]
}

function deviceValue({ classifiers, value }: DeviceIdentifier): DeviceValue {
  const classifier = classifiers.find(({ type }) => type === 'URI')?.value ?? ''
  return { classifier, value, path: classifier.includes('#') ? decoded(classifier.replace(/^[^#]*#/, '')) : '' }
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/** Returns the asset identifiers by which the inventory would recognise a device, each with its fields. */
export function assetIdentifiersOf(device: DiscoveredDevice): Record<string, string>[] {
  const fieldName = (path: string) => path.slice(path.lastIndexOf('/') + 1)
  return device.identifiers
    .filter((identifier) => /^(asset|mac)_identifiers(\[\d+\])?$/.test(deviceValue(identifier).path))
    .map(({ value }) => (value.case === 'children' ? value.value.value.map(deviceValue) : []))
    .map((fields) =>
      Object.fromEntries(
        fields.flatMap(({ path, value }) => (value.case === 'text' ? [[fieldName(path), value.value]] : [])),
      ),
    )
}
