import { isIPv6 } from 'node:net'
import { ipAddressesOf, macAddressesOf, propertyKeyOf, readCell } from '@millwright/api/asset-columns.ts'
import { assetTypeOf } from '@millwright/api/asset-schema.ts'
import { normaliseIpv4, normaliseIpv6 } from '../assets/address.ts'
import { setFirmware } from '../assets/asset.ts'
import { type Document, isObject, objectsOf, type PlainObject } from '../assets/document.ts'
import { normaliseMac } from '../identity/identifier.ts'

/** Converts the cells of a row to fields of an asset. An empty cell, and a cell with the current value, changes nothing. */

export type Cells = { readonly [target: string]: string }

/** Returns the fields that the cells change, with the values that they have after the change. */
export function fieldsOfCells(document: PlainObject, cells: Cells): Document {
  const record = { document, identifiers: [] }
  const changed = Object.fromEntries(
    Object.entries(cells).filter(([target, cell]) => cell !== '' && readCell(record, target) !== cell),
  )
  const { name, description, functional_object_type: type, ip_address: address, firmware_version: firmware } = changed
  const product = productAfter(document, changed)
  const points = address === undefined ? undefined : pointsAfter(document, address)
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(type === undefined ? {} : { functional_object_type: assetTypeOf(type) ?? type }),
    ...(product === undefined ? {} : { product_instance_information: product }),
    ...(points === undefined ? {} : { connection_points: points }),
    ...(firmware === undefined
      ? {}
      : { software_components: setFirmware(document, { version: firmware }).software_components }),
  }
}

/** The members of the product that have a column. */
const productMembers = [
  ['product', 'product_name'],
  ['order_number', 'product_id'],
  ['hardware_version', 'product_version'],
] as const

function productAfter({ product_instance_information: information }: PlainObject, cells: Cells): Document | undefined {
  const { manufacturer, serial_number: serial } = cells
  const members = productMembers.flatMap(([target, member]) =>
    cells[target] === undefined ? [] : [[member, cells[target]]],
  )
  if (manufacturer === undefined && serial === undefined && members.length === 0) return undefined
  const before = objectOf(information)
  const product = objectOf(before.manufacturer_product)
  const isProductChanged = manufacturer !== undefined || members.length > 0
  return {
    ...before,
    ...(serial === undefined ? {} : { serial_number: serial }),
    ...(isProductChanged && {
      manufacturer_product: {
        ...product,
        ...Object.fromEntries(members),
        ...(manufacturer === undefined
          ? {}
          : { manufacturer: { ...objectOf(product.manufacturer), name: manufacturer } }),
      },
    }),
  }
}

/**
 * Returns the connection points with an IP address. The address replaces the first one of the same version. Returns undefined
 * if the asset already has the address.
 */
function pointsAfter(document: PlainObject, address: string): PlainObject[] | undefined {
  const normal = isIPv6(address) ? normaliseIpv6(address) : normaliseIpv4(address)
  const current = ipAddressesOf(document).map((one) => (isIPv6(one) ? normaliseIpv6(one) : normaliseIpv4(one)))
  if (current.includes(normal)) return undefined
  const points = objectsOf(document.connection_points)
  const [type, member, value] = isIPv6(address)
    ? (['Ipv6Connectivity', 'ipv6_address', eightGroups(normal)] as const)
    : (['Ipv4Connectivity', 'ipv4_address', normal] as const)
  const index = points.findIndex((point) => point.connection_point_type === type)
  if (index < 0) return [...points, { connection_point_type: type, [member]: value }]
  return points.map((point, at) => (at === index ? { ...point, [member]: value } : point))
}

/** Returns an IPv6 address with eight groups, as the schema requires. */
function eightGroups(address: string): string {
  const [before = '', after] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  if (after === undefined) return address
  const [first, last] = [groups(before), groups(after)]
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => '0'), ...last].join(':')
}

/** Returns whether the document already contains the data of an identifier. Such an identifier is not added to the asset. */
export function isStated(document: PlainObject, identifier: PlainObject): boolean {
  const record = { document, identifiers: [] }
  if (identifier.asset_identifier_type === 'MacIdentifier')
    return macAddressesOf(record).some((mac) => normaliseMac(mac) === identifier.mac_address)
  return (
    readCell(record, 'serial_number') === identifier.serial_number &&
    readCell(record, 'manufacturer') === identifier.vendor &&
    readCell(record, 'order_number') === identifier.article_number
  )
}

/** The beginnings of JSON pointers in an asset, with the columns that they belong to. */
const columnsOfPointers: readonly [RegExp, string][] = [
  [/^\/asset_identifiers\/\d+\/mac_address/, 'mac_address'],
  [/^\/asset_identifiers\/\d+\/vendor/, 'manufacturer'],
  [/^\/asset_identifiers\/\d+\/article_number/, 'order_number'],
  [/^\/asset_identifiers\/\d+\/serial_number/, 'serial_number'],
  [/^\/product_instance_information\/serial_number/, 'serial_number'],
  [/^\/product_instance_information\/manufacturer_product\/manufacturer/, 'manufacturer'],
  [/^\/product_instance_information\/manufacturer_product\/product_id/, 'order_number'],
  [/^\/product_instance_information\/manufacturer_product\/product_name/, 'product'],
  [/^\/product_instance_information\/manufacturer_product\/product_version/, 'hardware_version'],
  [/^\/connection_points/, 'ip_address'],
  [/^\/software_components/, 'firmware_version'],
  [/^\/functional_object_type/, 'functional_object_type'],
  [/^\/name/, 'name'],
  [/^\/description/, 'description'],
]

/** Returns the pointer to the cell that causes a fault of an asset. */
export function cellPointer(pointer: string): string {
  const [, target] = columnsOfPointers.find(([start]) => start.test(pointer)) ?? []
  return target === undefined ? pointer : `/${target}`
}

/** Returns the cells of custom properties by the keys of the properties. */
export function propertyCells(cells: Cells): { key: string; value: string }[] {
  return Object.entries(cells).flatMap(([target, value]) => {
    const key = propertyKeyOf(target)
    return key === undefined || value === '' ? [] : [{ key: key.toLowerCase(), value }]
  })
}

function objectOf(value: unknown): PlainObject {
  return isObject(value) ? value : {}
}
