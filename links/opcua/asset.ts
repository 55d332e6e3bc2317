import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import {
  type DeviceFacts,
  deviceAsset,
  isIdentified,
  softwareComponent,
} from '@millwright/link-sdk/network/device-asset.ts'
import { manufacturerName } from '../manufacturer-name.ts'
import type { BuildInfo, Server } from './device.ts'
import { type Endpoint, identifyingCertificate } from './endpoints.ts'
import type { DeviceNode } from './nameplate.ts'

/** The place of a server in the network. */
type ServerPlace = { address: string; port: number; macAddress: string | undefined }

/** `ServerAssets` contains the asset of a server, and the assets of the devices in its DeviceSet. */
type ServerAssets = {
  /** The asset of the server. It is undefined if nothing identifies the server. */
  server: Asset | undefined
  modules: { device: string; asset: Asset }[]
  /** The devices that nothing identifies. */
  unidentified: string[]
}

/**
 * Converts a server to assets. If the DeviceSet contains one device on its first level, this is the device on which the
 * server runs, and both are one asset. Otherwise each device is a module of the server. Devices below a device are modules
 * of it.
 */
export function assetsOf(server: Server, place: ServerPlace): ServerAssets {
  const devices = server.content?.devices ?? []
  const topLevel = devices.filter(({ parent }) => parent === undefined)
  const own = topLevel.length === 1 ? topLevel[0] : undefined
  const facts = serverFacts(server, { ...place, own })
  const modules: ServerAssets['modules'] = []
  const unidentified: string[] = []
  const known = new Map<DeviceNode | undefined, Asset>([[undefined, deviceAsset(facts)]])
  const identities = new Set([identityOf(known.get(undefined))])
  if (own !== undefined) known.set(own, deviceAsset(facts))
  for (const device of devices) {
    if (device === own) continue
    const parent = known.get(device.parent) ?? known.get(undefined)
    const asset = moduleAsset(device, isIdentified(facts) ? parent : undefined)
    if (asset === undefined) unidentified.push(pathOf(device))
    else if (!identities.has(identityOf(asset))) {
      identities.add(identityOf(asset))
      known.set(device, asset)
      modules.push({ device: pathOf(device), asset })
    }
  }
  return { server: isIdentified(facts) ? deviceAsset(facts) : undefined, modules, unidentified }
}

/** Returns the first identifier of an asset. A server can list one device at several places. */
function identityOf(asset: Asset | undefined): string {
  const identifiers = asset?.asset_identifiers
  return JSON.stringify(Array.isArray(identifiers) ? identifiers[0] : undefined) ?? ''
}

/** Returns the names of a device and of the devices that contain it. */
export function pathOf({ name, parent }: DeviceNode): string {
  return parent === undefined ? name : `${pathOf(parent)}/${name}`
}

type ServerContext = ServerPlace & { own: DeviceNode | undefined }

function serverFacts(server: Server, { address, port, macAddress, own }: ServerContext): DeviceFacts {
  const { application, endpoints, content } = server
  const build = content?.build ?? {}
  const device = own === undefined ? {} : nameplateFacts(own)
  const firmware =
    device.firmwareVersion === undefined
      ? []
      : [softwareComponent('Firmware', device.firmwareVersion, { isFirmware: true })]
  const certificate = identifyingCertificate(endpoints)
  return {
    ...device,
    name: own?.name ?? application.name ?? `OPC UA server ${address}:${port}`,
    description: application.name === undefined ? 'OPC UA server' : `OPC UA server ${application.name}`,
    manufacturer: device.manufacturer ?? shortName(build.manufacturerName),
    product: device.product ?? build.productName,
    macAddress,
    certificateHash: certificate?.hash,
    interfaces: [{ name: 'ethernet', macAddress, ipAddress: address }],
    more: {
      software_components: [...firmware, ...serverSoftwareOf(build)],
      instance_annotations: annotationsOf(server, port),
    },
  }
}

function nameplateFacts({ name, nameplate }: DeviceNode): DeviceFacts {
  return {
    name,
    manufacturer: shortName(nameplate.Manufacturer),
    product: nameplate.Model,
    orderNumber: nameplate.OrderNumber ?? nameplate.ProductCode,
    serialNumber: nameplate.SerialNumber,
    hardwareVersion: nameplate.HardwareRevision ?? nameplate.DeviceRevision,
    firmwareVersion: nameplate.SoftwareRevision,
  }
}

function shortName(manufacturer: string | undefined): string | undefined {
  return manufacturer === undefined ? undefined : manufacturerName(manufacturer)
}

/** Returns the asset of a device in the DeviceSet, or undefined if it has no serial number with manufacturer and product. */
function moduleAsset(device: DeviceNode, parent: Asset | undefined): Asset | undefined {
  const facts = nameplateFacts(device)
  if (!isIdentified(facts)) return undefined
  const relation = parent && {
    predicate: 'is_module_of',
    relational_role_of_related_asset: 'object',
    related_asset: { asset_identifiers: parent.asset_identifiers },
  }
  return deviceAsset({ ...facts, ...(relation === undefined ? {} : { more: { asset_relations: [relation] } }) })
}

/** Returns the software of the server, as a component that is not firmware. */
function serverSoftwareOf({ productName, softwareVersion, buildNumber }: BuildInfo): Asset[] {
  if (softwareVersion === undefined) return []
  const isInVersion = buildNumber === undefined || softwareVersion.includes(buildNumber)
  return [
    softwareComponent(
      productName ?? 'OPC UA server',
      isInVersion ? softwareVersion : `${softwareVersion} (${buildNumber})`,
      { isFirmware: false },
    ),
  ]
}

/** The asset schema has no field for services, so the endpoints and the certificate are annotations. */
function annotationsOf({ application, endpoints }: Server, port: number): Asset[] {
  const certificate = identifyingCertificate(endpoints)
  const entries: [string, string | undefined][] = [
    [`opcua.${port}.application_uri`, application.uri],
    [`opcua.${port}.product_uri`, application.productUri],
    ...endpoints.map((one, index): [string, string] => [`opcua.${port}.endpoint.${index + 1}`, endpointText(one)]),
    [`opcua.${port}.certificate_subject`, certificate?.subject],
    [`opcua.${port}.certificate_valid_to`, certificate?.validTo.toISOString()],
  ]
  return entries.flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }]))
}

function endpointText({ url, mode, policy, tokens }: Endpoint): string {
  const users = [...new Set(tokens.map(({ type }) => type))].join(', ')
  return `${url} ${policy} ${mode} (${users === '' ? 'no users' : users})`
}
