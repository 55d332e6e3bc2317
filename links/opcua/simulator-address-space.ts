import type { SimulatedNodeId, Value } from './simulator-encoding.ts'

/** `SimulatedDevice` is a device in the DeviceSet, with the properties of its nameplate. */
export type SimulatedDevice = {
  name: string
  /** The properties of the nameplate, such as `SerialNumber`. */
  properties?: Readonly<Record<string, string | number>>
  /** Whether the properties are in the functional group Identification instead of the device. */
  isGrouped?: boolean
  /** The devices below this device, in an object with the name SubDevices. */
  devices?: readonly SimulatedDevice[]
}

/** `SimulatedNode` is an object, or a variable if it has a value. */
export type SimulatedNode = { id: SimulatedNodeId; name: string; children: SimulatedNode[]; value?: Value }

type Build = {
  productUri?: string
  manufacturer?: string
  product?: string
  version?: string
  number?: string
  date?: string
}

type SpaceOptions = {
  applicationUri: string
  build?: Build | undefined
  devices?: readonly SimulatedDevice[] | undefined
}

const deviceIntegration = 'http://opcfoundation.org/UA/DI/'
const ownNamespace = 1
const deviceNamespace = 2
const localizedProperties = new Set(['Manufacturer', 'Model'])

/** `AddressSpace` contains the nodes of a simulated server: the server status and the DeviceSet. */
export class AddressSpace {
  readonly #nodes = new Map<string, SimulatedNode>()
  #lastId = 1_000

  constructor({ applicationUri, build = {}, devices }: SpaceOptions) {
    const text = (value: string | undefined): Value => ({ type: 'String', value: value ?? '' })
    const time = (value: Date): Value => ({ type: 'DateTime', value })
    const namespaces = ['http://opcfoundation.org/UA/', applicationUri]
    this.#addVariable(2255, {
      type: 'Strings',
      value: devices === undefined ? namespaces : [...namespaces, deviceIntegration],
    })
    this.#addVariable(2257, time(new Date('2026-01-01T00:00:00Z')))
    this.#addVariable(2258, time(new Date()))
    this.#addVariable(2259, { type: 'Int32', value: 0 })
    this.#addVariable(2261, text(build.product))
    this.#addVariable(2262, text(build.productUri))
    this.#addVariable(2263, text(build.manufacturer))
    this.#addVariable(2264, text(build.version))
    this.#addVariable(2265, text(build.number))
    this.#addVariable(2266, time(new Date(build.date ?? '1970-01-01T00:00:00Z')))
    if (devices === undefined) return
    const deviceSet = this.#add({ id: { namespace: deviceNamespace, id: 5_001 }, name: 'DeviceSet', children: [] })
    deviceSet.children.push(...devices.map((device) => this.#addDevice(device)))
  }

  find(id: SimulatedNodeId): SimulatedNode | undefined {
    return this.#nodes.get(keyOf(id))
  }

  #add(node: SimulatedNode): SimulatedNode {
    this.#nodes.set(keyOf(node.id), node)
    return node
  }

  #addVariable(id: number, value: Value): void {
    this.#add({ id: { namespace: 0, id }, name: String(id), children: [], value })
  }

  #addObject(name: string, children: SimulatedNode[]): SimulatedNode {
    return this.#add({ id: { namespace: ownNamespace, id: ++this.#lastId }, name, children })
  }

  #addDevice({ name, properties = {}, isGrouped = false, devices = [] }: SimulatedDevice): SimulatedNode {
    const variables = Object.entries(properties).map(([key, value]) =>
      this.#add({
        id: { namespace: ownNamespace, id: `${name}.${key}.${++this.#lastId}` },
        name: key,
        children: [],
        value: simulatedValue(key, value),
      }),
    )
    const nested = devices.map((device) => this.#addDevice(device))
    return this.#addObject(name, [
      ...(isGrouped ? [this.#addObject('Identification', variables)] : variables),
      this.#addObject('ParameterSet', []),
      ...(nested.length === 0 ? [] : [this.#addObject('SubDevices', nested)]),
    ])
  }
}

function simulatedValue(key: string, value: string | number): Value {
  if (typeof value === 'number') return { type: 'Int32', value }
  return { type: localizedProperties.has(key) ? 'LocalizedText' : 'String', value }
}

function keyOf({ namespace, id }: SimulatedNodeId): string {
  return `${namespace};${id}`
}
