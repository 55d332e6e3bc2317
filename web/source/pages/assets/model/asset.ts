import { type AssetClass, assetClassOf } from '@millwright/api/asset-class.ts'

/**
 * `Asset` is an asset document. Its fields depend on its schema, so the type of each value must be checked before use.
 */

export type Asset = { id: string; [field: string]: unknown }

/** Returns the value at a path, or undefined if the path does not exist. */
export function valueAt(asset: unknown, path: string): unknown {
  return path.split('/').reduce((value: unknown, name) => fieldOf(value, name), asset)
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
}

/** Returns the value at a path as text. An absent value is an empty text. */
export function textAt(asset: unknown, path: string): string {
  const value = valueAt(asset, path)
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Returns the values of one field in all elements of an array, as texts. Empty values are left out. */
export function textsIn(asset: unknown, array: string, field: string): string[] {
  const elements = valueAt(asset, array)
  if (!Array.isArray(elements)) return []
  return elements.map((element) => textAt(element, field)).filter((text) => text !== '')
}

/** Returns the name of an asset. An asset without a name is shown with its IP address, its MAC address or its id. */
export function nameOf(asset: Asset): string {
  const [address] = ['ipv4_address', 'mac_address'].flatMap((field) => textsIn(asset, 'connection_points', field))
  return textAt(asset, 'name') || address || asset.id
}

/**
 * Returns the firmware version of an asset, which is the version of the first firmware among its software components.
 */
export function firmwareOf(asset: unknown): string {
  const components = valueAt(asset, 'software_components')
  if (!Array.isArray(components)) return ''
  const firmware = components.find((component) => valueAt(component, 'artifact/is_firmware') === true)
  return textsIn(firmware, 'artifact/asset_identifiers', 'version')[0] ?? ''
}

/** Returns the value of a custom property. */
export function customValue(asset: unknown, key: string): string {
  const values = valueAt(asset, 'custom_properties')
  if (!Array.isArray(values)) return ''
  return textAt(
    values.find((each) => valueAt(each, 'key') === key),
    'value',
  )
}

const product = 'product_instance_information/manufacturer_product'

/** Returns the class of an asset, for example drive. */
export function classOf(asset: Asset): AssetClass {
  return assetClassOf({
    type: textAt(asset, 'functional_object_type'),
    family: textAt(asset, `${product}/product_family`),
    product: textAt(asset, `${product}/product_name`),
    name: textAt(asset, 'name'),
  })
}
