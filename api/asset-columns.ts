import { firmwareVersionOf } from './asset-firmware.ts'

/**
 * The columns of assets in tables: the template of imports, imported files, exports and the report of an import. An
 * export and an import use the same columns, so that an exported file can be imported again without a change.
 */

export const assetColumnTargets = [
  'name',
  'functional_object_type',
  'description',
  'manufacturer',
  'product',
  'order_number',
  'serial_number',
  'hardware_version',
  'firmware_version',
  'mac_address',
  'ip_address',
  'access_group',
  'hierarchy_path',
  'parent',
] as const

export type AssetColumnTarget = (typeof assetColumnTargets)[number]

/** The id of an asset. Exports have this column, so that an import finds the asset again. The template does not. */
export const idTarget = 'id'

/** Returns whether these columns can identify assets: by a MAC address, a serial number of a manufacturer, or an id. */
export function identifiesAssets(targets: readonly (string | null)[]): boolean {
  const hasSerial = targets.includes('serial_number') && targets.includes('manufacturer')
  return hasSerial || targets.includes('mac_address') || targets.includes(idTarget)
}

/** The heading of each column. */
export const assetHeadings: Readonly<Record<AssetColumnTarget | typeof idTarget, string>> = {
  name: 'Name',
  functional_object_type: 'Type',
  description: 'Description',
  manufacturer: 'Manufacturer',
  product: 'Product',
  order_number: 'Order number',
  serial_number: 'Serial number',
  hardware_version: 'Hardware version',
  firmware_version: 'Firmware version',
  mac_address: 'MAC address',
  ip_address: 'IP address',
  access_group: 'Access group',
  hierarchy_path: 'Hierarchy path',
  parent: 'Parent',
  id: 'ID',
}

const propertyPrefix = 'custom_properties/'

/** Returns the target of the column of a custom property. */
export function propertyTarget(key: string): string {
  return propertyPrefix + key
}

/** Returns the key of the custom property of a column, or undefined if the column is not that of a custom property. */
export function propertyKeyOf(target: string): string | undefined {
  return target.startsWith(propertyPrefix) ? target.slice(propertyPrefix.length) : undefined
}

export type AssetColumn = { heading: string; target: string }

/** Returns the columns of a tenant with these custom properties: first the fixed columns, then one for each property. */
export function assetColumnsOf(properties: readonly { key: string; name: string }[]): AssetColumn[] {
  return [
    ...assetColumnTargets.map((target) => ({ heading: assetHeadings[target], target })),
    ...properties.map(({ key, name }) => ({ heading: name, target: propertyTarget(key) })),
  ]
}

/** The predicates of relations to a parent. A new relation has the first one. */
export const parentPredicates = ['is_part_of', 'is_module_of', 'is_periphery_of'] as const

type PlainObject = { readonly [name: string]: unknown }

/** An asset with the data that its document does not contain. */
export type AssetRecord = {
  document: PlainObject
  identifiers: readonly PlainObject[]
  /** The paths of the nodes of the asset. Each path starts with the name of its hierarchy (`joinPath`). */
  hierarchyPaths?: readonly string[]
  parent?: { id: string; name?: string | null }
}

/** Returns the text of the cell of an asset in a column. The text is empty if the asset has no value. */
export function readCell(record: AssetRecord, target: string): string {
  return cellReader(target)(record)
}

/** Returns the function that reads the cells of a column. Tables with many rows look it up once for each column. */
export function cellReader(target: string): (record: AssetRecord) => string {
  const key = propertyKeyOf(target)
  if (key !== undefined)
    return ({ document }) => cellText(objectsOf(document.custom_properties).find((entry) => entry.key === key)?.value)
  const read = readers[target as AssetColumnTarget]
  return read === undefined ? () => '' : (record) => cellText(read(record))
}

const productOf = ({ document }: AssetRecord) =>
  objectOf(objectOf(document.product_instance_information).manufacturer_product)

const readers: Readonly<Record<AssetColumnTarget | typeof idTarget, (record: AssetRecord) => unknown>> = {
  name: ({ document }) => document.name,
  functional_object_type: ({ document }) => document.functional_object_type,
  description: ({ document }) => document.description,
  manufacturer: (record) => objectOf(productOf(record).manufacturer).name,
  product: (record) => productOf(record).product_name,
  order_number: (record) => productOf(record).product_id,
  serial_number: ({ document }) => objectOf(document.product_instance_information).serial_number,
  hardware_version: (record) => productOf(record).product_version,
  firmware_version: ({ document }) => firmwareVersionOf(document),
  mac_address: (record) => macAddressesOf(record)[0],
  ip_address: ({ document }) => ipAddressesOf(document)[0],
  access_group: ({ document }) => document.access_group,
  // A cell with several paths has one path in each line.
  hierarchy_path: ({ hierarchyPaths = [] }) => hierarchyPaths.join('\n'),
  parent: ({ parent }) => (parent === undefined ? '' : parentText(parent)),
  id: ({ document }) => document.id,
}

/** Returns the MAC addresses of an asset: first those that identify it, then those of its Ethernet ports. */
export function macAddressesOf({ document, identifiers }: Pick<AssetRecord, 'document' | 'identifiers'>): string[] {
  const own = [...identifiers, ...objectsOf(document.connection_points)]
  return own.flatMap(({ mac_address: address }) => (typeof address === 'string' ? [address] : []))
}

/** Returns the IP addresses of an asset, those of version 4 first. */
export function ipAddressesOf(document: PlainObject): string[] {
  const points = objectsOf(document.connection_points)
  const addresses = [...points.map((point) => point.ipv4_address), ...points.map((point) => point.ipv6_address)]
  return addresses.filter((address) => typeof address === 'string')
}

/** Returns the text of a cell of the column `Parent`. Names are not unique, so the id follows in brackets. */
export function parentText({ id, name }: { id: string; name?: string | null }): string {
  return `${cellText(name)} [${id}]`.trim()
}

const plainId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const parentWithId = /^(.*?)\s*\[([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\]$/is

/** Reads a cell of the column `Parent`: the text of `parentText`, or a name, an identifier or an id. */
export function parseParent(cell: string): { text: string; id?: string } {
  if (plainId.test(cell)) return { text: cell, id: cell.toLowerCase() }
  const [, text, id] = parentWithId.exec(cell) ?? []
  return id === undefined ? { text: cell } : { text: text ?? '', id: id.toLowerCase() }
}

/**
 * Characters that a cell cannot contain: control characters except tab and line feed, and code points that XML refuses.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f\ufffe\uffff]/g

/** Most texts need no change: printable ASCII characters without surrounding spaces. */
const isPlain = /^(?:[!-~](?:[ -~]*[!-~])?)?$/

/** Returns the text of a cell. Spreadsheets do not keep line ends and control characters, so they are unified here. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = String(value)
  return isPlain.test(text)
    ? text
    : text.replaceAll('\r\n', '\n').replaceAll('\r', '\n').replaceAll(unprintable, '').trim()
}

type Cells = { readonly [target: string]: string }

/**
 * Returns the identifiers that the cells of a row state: the MAC address, and the serial number with its manufacturer. Two
 * rows with the same identifier describe the same asset.
 */
export function identifiersOfCells({
  mac_address: mac = '',
  manufacturer = '',
  order_number: order = '',
  serial_number: serial = '',
}: Cells): PlainObject[] {
  const ofSerial = {
    asset_identifier_type: 'ProductInstanceIdentifier',
    vendor: manufacturer,
    article_number: order,
    serial_number: serial,
  }
  const ofMac = { asset_identifier_type: 'MacIdentifier', mac_address: normalMac(mac) }
  return [...(serial === '' || manufacturer === '' ? [] : [ofSerial]), ...(mac === '' ? [] : [ofMac])]
}

/**
 * Returns a MAC address in pairs that are separated by colons. Tables contain MAC addresses with other separators or without
 * any. Other text is returned unchanged.
 */
export function normalMac(text: string): string {
  const digits = text.toLowerCase().replaceAll(/[\s:.-]/g, '')
  return /^[0-9a-f]{12}$/.test(digits) ? (digits.match(/../g) ?? []).join(':') : text
}

function objectOf(value: unknown): PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as PlainObject) : {}
}

function objectsOf(value: unknown): PlainObject[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'object' && entry !== null) : []
}
