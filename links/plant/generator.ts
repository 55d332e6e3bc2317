import { createHash } from 'node:crypto'
import type { AssetDocument, Entity } from '@millwright/api/inventory/inventory.ts'
import { areas, catalogue, type Kind, type Product, sites, tags } from './catalogue.ts'
import { draw, pick } from './draw.ts'

/**
 * `PlantSize` contains the parameters of a plant. The same parameters always create the same plant. With the same seed,
 * a larger plant starts with the assets of a smaller plant.
 */
export type PlantSize = {
  assets: number
  seed: number
  /** The number of relations per asset, at most 5. */
  relations: number
}

/**
 * `PlantRelation` is a relation whose subject is the asset. The object is another asset, given by its index in the
 * plant and one of its identifiers, or a node of a hierarchy.
 */
export type PlantRelation = { predicate: string } & (
  | { place: number; identifier: AssetDocument }
  | { node: Entity & { type: 'node' } }
)

export type PlantAsset = {
  /** The index of the asset in the plant, from 0. */
  place: number
  accessGroup: string
  /** The asset document without its access group and relations. */
  asset: AssetDocument
  relations: PlantRelation[]
  managementState: 'regarded' | 'ignored' | 'unknown'
  /** The value of the custom property `cost centre`. */
  propertyValue: string
}

export const plantProperty = 'cost centre'
export const plantSource = 'plant generator'

const cellsPerLine = 8
const linesPerArea = 6

const cell: readonly { kind: Kind; count: number }[] = [
  { kind: 'switch', count: 1 },
  { kind: 'controller', count: 1 },
  { kind: 'module', count: 5 },
  { kind: 'drive', count: 3 },
  { kind: 'sensor', count: 7 },
  { kind: 'panel', count: 1 },
  { kind: 'software', count: 2 },
]

const salts = { product: 1, hardware: 2, firmware: 3, mode: 4, state: 5 } as const

type GeneratedAsset = { place: number; identifier: AssetDocument }

/** The second number of the first address. Simulated devices that scans find have smaller numbers. */
const firstNetwork = 16

/**
 * `Place` is the location of a cell in the plant. It includes the gateway and the switches that the cell's assets
 * have relations to.
 */
type Place = {
  seed: number
  code: string
  accessGroup: string
  costCentre: string
  /** The number of the line in the plant. Each line has a subnet with 24 bits. */
  lineNumber: number
  nodes: { cell: string; line: string }
  gateway: GeneratedAsset | undefined
  lineSwitch: GeneratedAsset | undefined
  /** The switch of the first line of the area. It connects the lines of the area. */
  areaSwitch: GeneratedAsset | undefined
}

/** `Line` is the line whose cells are generated, with the number of its addresses so far. */
type Line = {
  number: number
  addresses: number
  gateway: GeneratedAsset | undefined
  lineSwitch: GeneratedAsset | undefined
}

/** Yields the assets cell by cell, so that memory does not grow with the size of the plant. */
export function* plantAssets({ assets, seed, relations }: PlantSize): Generator<PlantAsset> {
  let place = 0
  let line: Line | undefined
  let areaSwitch: GeneratedAsset | undefined
  for (let number = 0; place < assets; number++) {
    const lineNumber = Math.floor(number / cellsPerLine)
    if (number % (cellsPerLine * linesPerArea) === 0) areaSwitch = undefined
    if (line?.number !== lineNumber)
      line = { number: lineNumber, addresses: 0, gateway: undefined, lineSwitch: undefined }
    const where = placeOf(number, seed)
    const members: readonly { kind: Kind; count: number }[] =
      number % cellsPerLine === 0 ? [{ kind: 'gateway', count: 1 }, ...cell] : cell
    const made = new Map<Kind, GeneratedAsset>()
    for (const { kind, count } of members) {
      for (let one = 1; one <= count && place < assets; one++) {
        const { gateway, lineSwitch } = line
        if (isNetworked(kind)) line.addresses++
        const host = line.addresses
        const asset = assetOf({ ...where, gateway, lineSwitch, areaSwitch }, { kind, one, place, host, made })
        yield { ...asset, relations: asset.relations.slice(0, relations) }
        const [identifier = {}] = asset.asset.asset_identifiers as AssetDocument[]
        if (!made.has(kind)) made.set(kind, { place, identifier })
        if (kind === 'gateway') line.gateway ??= { place, identifier }
        if (kind === 'switch') line.lineSwitch ??= { place, identifier }
        if (kind === 'switch') areaSwitch ??= { place, identifier }
        place++
      }
    }
  }
}

function placeOf(number: number, seed: number): Omit<Place, 'gateway' | 'lineSwitch' | 'areaSwitch'> {
  const lineNumber = Math.floor(number / cellsPerLine)
  const areaNumber = Math.floor(lineNumber / linesPerArea)
  const siteNumber = Math.floor(areaNumber / areas.length)
  const site = sites[siteNumber % sites.length] ?? ''
  const area = areas[areaNumber % areas.length] ?? areas[0]
  const round = Math.floor(siteNumber / sites.length)
  const siteCode = `${site.slice(0, 3).toUpperCase()}${round === 0 ? '' : round + 1}`
  const lineCode = `L${padded((lineNumber % linesPerArea) + 1, 2)}`
  return {
    seed,
    code: `${siteCode}-${area.code}-${lineCode}-C${padded((number % cellsPerLine) + 1, 2)}`,
    accessGroup: `${site}${round === 0 ? '' : ` ${round + 1}`} ${area.name}`,
    costCentre: `${4000 + (areaNumber % 900)}`,
    lineNumber,
    nodes: { cell: nodeId(seed, `cell ${number}`), line: nodeId(seed, `line ${lineNumber}`) },
  }
}

type Member = {
  kind: Kind
  one: number
  place: number
  /** The last number of the address in the subnet of the line. */
  host: number
  made: ReadonlyMap<Kind, GeneratedAsset>
}

function assetOf(where: Place, member: Member): PlantAsset {
  const { kind, one, place } = member
  const drawn = (purpose: keyof typeof salts) => draw(where.seed, place, salts[purpose])
  const chance = (purpose: keyof typeof salts) => drawn(purpose) / 2 ** 32
  const product = pick<Product>(catalogue[kind], drawn('product'))
  // The square root makes newer versions more frequent.
  const version = pick(product.firmware, Math.floor(Math.sqrt(chance('firmware')) * product.firmware.length))
  const name = `${where.code}-${tags[kind]}${padded(one, 2)}`
  const described = { product, version, name, serial: serialOf(where.seed, place) }
  return {
    place,
    accessGroup: where.accessGroup,
    asset: {
      functional_object_type: types[kind],
      name,
      description: `${product.name} of ${where.accessGroup}`,
      asset_identifiers: identifiersOf(where, member, described),
      product_instance_information: {
        serial_number: described.serial,
        manufacturer_product: {
          manufacturer: { name: product.vendor },
          product_id: product.article,
          product_version: pick(product.hardware, drawn('hardware')),
          product_name: product.name,
          product_family: product.family,
        },
      },
      ...(isNetworked(kind) ? { connection_points: connectionsOf(where, member) } : {}),
      ...(types[kind] === 'Device' ? { software_components: [firmwareOf(described)] } : {}),
      ...(kind === 'controller' ? { operating_mode: { mode_name: chance('mode') < 0.95 ? 'run' : 'stop' } } : {}),
      location: [{ location_type: 'Okz', location_identifier: where.code }],
    },
    relations: relationsOf(where, member),
    managementState: stateBy(chance('state')),
    propertyValue: where.costCentre,
  }
}

const types = {
  gateway: 'Gateway',
  switch: 'Device',
  controller: 'Device',
  module: 'Device',
  drive: 'Device',
  sensor: 'Device',
  panel: 'Device',
  software: 'SoftwareArtifact',
} as const satisfies Record<Kind, string>

function isNetworked(kind: Kind): boolean {
  return kind !== 'module' && kind !== 'software'
}

function stateBy(chance: number): PlantAsset['managementState'] {
  if (chance < 0.85) return 'regarded'
  return chance < 0.97 ? 'unknown' : 'ignored'
}

type AssetDescription = { product: Product; version: string; name: string; serial: string }

function identifiersOf(where: Place, { kind, one, place, made }: Member, described: AssetDescription): AssetDocument[] {
  const { product, version, name, serial } = described
  if (kind === 'gateway')
    return [{ asset_identifier_type: 'CertificateIdentifier', certificate_id: `gateway-${serial}` }]
  if (kind === 'software') {
    const host = String(made.get('panel')?.identifier.serial_number ?? name)
    return [
      {
        asset_identifier_type: 'HostBasedSoftwareIdentifier',
        host_identifier: host,
        name: product.name,
        version,
        instance_identifier: serial,
      },
    ]
  }
  const own = {
    asset_identifier_type: 'ProductInstanceIdentifier',
    vendor: product.vendor,
    article_number: product.article,
    serial_number: serial,
  }
  const parent = kind === 'module' ? made.get('controller')?.identifier : undefined
  if (parent === undefined)
    return [own, { asset_identifier_type: 'MacIdentifier', mac_address: macOf(where.seed, place) }]
  return [
    own,
    { asset_identifier_type: 'ParentRelativeIdentifier', parent_identifier: parent, slot: one + 1, subslot: 0 },
  ]
}

function connectionsOf({ seed, lineNumber }: Place, { place, host }: Member): AssetDocument[] {
  const address = `10.${(firstNetwork + (lineNumber >>> 8)) & 255}.${lineNumber & 255}.${host}`
  return [
    { connection_point_type: 'EthernetPort', id: 'x1', mac_address: macOf(seed, place) },
    {
      connection_point_type: 'Ipv4Connectivity',
      id: 'ip1',
      ipv4_address: address,
      network_mask: '255.255.255.0',
      related_connection_points: [{ connection_point_id: 'x1', custom_relationship: 'relies on' }],
    },
  ]
}

function firmwareOf({ product, version }: AssetDescription): AssetDocument {
  const name = `${product.name} firmware`
  return {
    software_component_type: 'SoftwareArtifactComponent',
    artifact: {
      functional_object_type: 'SoftwareArtifact',
      name,
      is_firmware: true,
      asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name, version }],
    },
  }
}

/**
 * Returns the relations of an asset. The most informative relations come first: the parent, then the controller, then the location,
 * then the group.
 */
function relationsOf({ nodes, gateway, lineSwitch, areaSwitch }: Place, { kind, made }: Member): PlantRelation[] {
  const to = (predicate: string, other: GeneratedAsset | undefined): PlantRelation[] =>
    other === undefined ? [] : [{ predicate, ...other }]
  const at = (id: string): PlantRelation => ({ predicate: 'is_assigned_to_node', node: { type: 'node', id } })
  const hangs: Record<Kind, () => PlantRelation[]> = {
    gateway: () => [],
    // The first switch of a line connects the line with its gateway and with the other lines of the area.
    switch: () =>
      lineSwitch === undefined
        ? [...to('is_connected_to', areaSwitch), ...to('is_connected_to', gateway)]
        : to('is_connected_to', lineSwitch),
    controller: () => to('is_connected_to', made.get('switch')),
    module: () => to('is_module_of', made.get('controller')),
    drive: () => to('is_connected_to', made.get('switch')),
    sensor: () => to('is_connected_to', made.get('switch')),
    panel: () => to('is_connected_to', made.get('switch')),
    software: () => to('is_installed_on', made.get('panel')),
  }
  const head = kind === 'controller' || kind === 'switch' ? undefined : made.get('controller')
  const isControlled = kind === 'drive' || kind === 'panel'
  return [
    ...hangs[kind](),
    ...(isControlled ? to('is_controlled_by', head) : []),
    at(nodes.cell),
    ...(isControlled ? [] : to('is_part_of', head)),
    at(nodes.line),
    ...(kind === 'gateway' ? [] : to('is_watched_by', gateway)),
  ]
}

/** Returns a unique number for each index in the plant. The numbers are not sequential. */
function scrambled(place: number): number {
  return Math.imul(place + 1, 0x9e37_79b1) >>> 0
}

function serialOf(seed: number, place: number): string {
  return `${padded(seed % 1000, 3)}${scrambled(place).toString(36).toUpperCase().padStart(7, '0')}`
}

/** Returns a MAC address from the locally administered range, which no vendor uses. */
function macOf(seed: number, place: number): string {
  const digits = `02${(seed & 255).toString(16).padStart(2, '0')}${scrambled(place).toString(16).padStart(8, '0')}`
  return (digits.match(/../g) ?? []).join(':')
}

function nodeId(seed: number, name: string): string {
  const digits = createHash('sha256').update(`${seed} ${name}`).digest('hex')
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`
}

function padded(value: number, digits: number): string {
  return String(value).padStart(digits, '0')
}
