import type { BrowseResult, DataValue, NodeId, ReferenceDescription } from 'node-opcua-client'
import type { Library } from './library.ts'
import type { Session } from './session.ts'
import { cleanText } from './text.ts'

/**
 * This file reads the nameplates of devices (OPC 10000-100, Device Integration). All devices are below the object
 * DeviceSet. The walk starts there. It visits the children of the DeviceSet, the children of devices, and the children of
 * objects with a name of `containers`. An object with a property of a nameplate is a device. The number of nodes, the
 * depth and the number of devices are limited.
 */

/** `Nameplate` contains the properties of a device, by their names in the specification. */
export type Nameplate = Partial<Record<(typeof propertyNames)[number], string>>

/** `DeviceNode` is a device of the DeviceSet. */
export type DeviceNode = {
  name: string
  nameplate: Nameplate
  /** The device that contains this device. */
  parent: DeviceNode | undefined
}

const deviceIntegrationUri = 'http://opcfoundation.org/UA/DI/'

const propertyNames = [
  'Manufacturer',
  'Model',
  'SerialNumber',
  'HardwareRevision',
  'SoftwareRevision',
  'DeviceRevision',
  'ProductCode',
  'OrderNumber',
] as const

/** The numeric id of the object DeviceSet in the namespace of the specification. */
const deviceSetId = 5001
const containers = new Set(['SubDevices', 'Modules', 'Identification'])
const identification = 'Identification'

export const walkLimits = {
  /** The nodes whose children are read. */
  nodes: 120,
  /** The levels below the DeviceSet. */
  depth: 5,
  devices: 64,
  /** The further pages of a node with many children. */
  pages: 4,
  nodesPerRequest: 20,
  valuesPerRequest: 50,
} as const

type Visit = { node: NodeId; name: string; depth: number; owner: DeviceNode | undefined }
type PropertyNode = { node: NodeId; name: keyof Nameplate; device: DeviceNode }

/** Reads the devices of a server. `namespaces` is the namespace array of the server. */
export async function readDevices(
  session: Session,
  { library, namespaces }: { library: Library; namespaces: readonly string[] },
): Promise<DeviceNode[]> {
  const namespace = namespaces.indexOf(deviceIntegrationUri)
  if (namespace < 0) return []
  const root = library.coerceNodeId(`ns=${namespace};i=${deviceSetId}`)
  const { devices, properties } = await walk(session, root)
  for (let start = 0; start < properties.length; start += walkLimits.valuesPerRequest) {
    const some = properties.slice(start, start + walkLimits.valuesPerRequest)
    const values = await session.read(some.map(({ node }) => node))
    for (const [index, { name, device }] of some.entries()) {
      const text = textOf(values[index])
      if (text !== undefined) device.nameplate[name] ??= text
    }
  }
  return devices.filter(({ nameplate }) => Object.keys(nameplate).length > 0)
}

async function walk(session: Session, root: NodeId): Promise<{ devices: DeviceNode[]; properties: PropertyNode[] }> {
  const devices: DeviceNode[] = []
  const properties: PropertyNode[] = []
  const seen = new Set([root.toString()])
  let level: Visit[] = [{ node: root, name: 'DeviceSet', depth: 0, owner: undefined }]
  let visited = 0
  while (level.length > 0 && visited < walkLimits.nodes) {
    const some = level.splice(0, Math.min(walkLimits.nodesPerRequest, walkLimits.nodes - visited))
    visited += some.length
    const results = await session.browse(some.map(({ node }) => node))
    for (const [index, visit] of some.entries()) {
      const references = await referencesOf(session, results[index])
      const found = visitNode(visit, references, devices.length < walkLimits.devices)
      if (found.device !== undefined) devices.push(found.device)
      properties.push(...found.properties)
      const next = found.children.filter(({ node }) => !seen.has(node.toString()))
      for (const { node } of next) seen.add(node.toString())
      level = [...level, ...next]
    }
  }
  return { devices, properties }
}

/** Returns the children of a node. A node with many children needs further requests, whose number is limited. */
async function referencesOf(session: Session, first: BrowseResult | undefined): Promise<ReferenceDescription[]> {
  const references = [...(first?.references ?? [])]
  let point = first?.continuationPoint
  for (let page = 0; page < walkLimits.pages && point !== undefined && (point?.length ?? 0) > 0; page += 1) {
    const next = await session.browseNext(point)
    references.push(...(next?.references ?? []))
    point = next?.continuationPoint
  }
  return references
}

type VisitResult = { device: DeviceNode | undefined; properties: PropertyNode[]; children: Visit[] }

/** Decides whether a node is a device, and which of its children are visited. */
function visitNode(visit: Visit, references: readonly ReferenceDescription[], mayAddDevice: boolean): VisitResult {
  const { name, depth, owner } = visit
  const named = references.flatMap((reference) => {
    const child = cleanText(reference.browseName?.name)
    return child === undefined || reference.nodeId.serverIndex !== 0 ? [] : [{ reference, child }]
  })
  const plates = named.flatMap(({ reference, child }) => {
    const property = propertyNames.find((one) => one === child)
    return property !== undefined && reference.nodeClass === variableClass
      ? [{ node: reference.nodeId, name: property }]
      : []
  })
  const subObjects = named.filter(({ reference }) => reference.nodeClass === objectClass)
  const isNewDevice = depth > 0 && name !== identification && mayAddDevice && hasPlate(plates, subObjects)
  const device = isNewDevice ? { name, nameplate: {}, parent: owner } : undefined
  const holder = device ?? owner
  const isOpen = depth === 0 || device !== undefined || containers.has(name)
  return {
    device,
    properties:
      holder === undefined || !(isNewDevice || name === identification)
        ? []
        : plates.map((one) => ({ ...one, device: holder })),
    children: isOpen && depth < walkLimits.depth ? subObjects.map((one) => visitOf(one, { depth, holder })) : [],
  }
}

type NamedReference = { reference: ReferenceDescription; child: string }

/** A device has properties of a nameplate, or a functional group with them. */
function hasPlate(plates: readonly unknown[], subObjects: readonly NamedReference[]): boolean {
  return plates.length > 0 || subObjects.some(({ child }) => child === identification)
}

function visitOf(
  { reference, child }: NamedReference,
  { depth, holder }: { depth: number; holder: DeviceNode | undefined },
): Visit {
  return { node: reference.nodeId, name: child, depth: depth + 1, owner: holder }
}

const objectClass = 1
const variableClass = 2

/** Returns the value of a variable as text. Nameplates contain texts, localized texts and numbers. */
export function textOf(value: DataValue | undefined): string | undefined {
  const content: unknown = value?.value?.value
  if (typeof content === 'number' || typeof content === 'bigint') return String(content)
  if (typeof content === 'object' && content !== null && 'text' in content) return cleanText(content.text)
  return cleanText(content)
}
