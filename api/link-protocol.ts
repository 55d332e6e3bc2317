import {
  create,
  type DescMethod,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { AlarmEventApi } from './proto/generated/alarms-events_pb.js'
import { ArtefactUpdateApi as ArtefactTransferApi } from './proto/generated/artefact-transfer_pb.js'
import { ArtefactUpdateApi } from './proto/generated/artefact-update_pb.js'
import { DeviceDiscoveryApi } from './proto/generated/device-discovery_pb.js'
import { DeviceInfoApi } from './proto/generated/device-info_pb.js'
import { DeviceDiscoverApi } from './proto/generated/discover_pb.js'
import { DriverEventApi } from './proto/generated/driver-event_pb.js'
import { DriverInfoApi } from './proto/generated/driver-info_pb.js'
import { FirmwareupdateApi } from './proto/generated/firmware-update_pb.js'
import { IdentifiersApi } from './proto/generated/identifiers_pb.js'
import { PermitApi, PermitKind as WirePermitKind } from './proto/generated/permits_pb.js'
import { RegistryApi } from './proto/generated/registry_pb.js'
import { SentFunctionsApi } from './proto/generated/sent-functions_pb.js'
import { DcdStatus } from './proto/generated/status_pb.js'
import type { PermitKind } from './scan-budget.ts'

/**
 * The protocol between a gateway and its asset links.
 *
 * Every interface exists once for each vendor: `<vendor>.connectivitysuite.registry.v1` and so on. The messages are the
 * same for all vendors, so one implementation of a service can serve several vendors. Only the paths of the methods
 * differ.
 */

export const ourVendor = 'millwright'

/**
 * The default vendor prefixes: our own prefix, and the prefix `siemens`, which the existing asset links of this vendor
 * use.
 */
export const usualVendors: readonly string[] = [ourVendor, 'siemens']

/**
 * The metadata key of the token of a built-in link. The gateway gives the token to the process that it started, and accepts
 * the id of the link, and gives permits to it, only together with the token.
 */
export const linkTokenKey = 'millwright-link-token'

/** The metadata key of the percent-encoded id of the link that takes permits. */
export const linkIdKey = 'millwright-link-id'

/** The metadata key of a `DiscoverDevices` call. With this key, a caller requests messages with `progress`. */
export const progressMetadataKey = 'millwright-discovery-progress'

/**
 * The metadata key of a call of a link: the id of the scan. The link sends it back with its requests for permits, so that
 * the gateway can assign them to the scan.
 */
export const scanMetadataKey = 'millwright-scan'

/** The numbers of the kinds of permits in the protocol. */
export const permitKindNumbers: Readonly<Record<PermitKind, WirePermitKind>> = {
  datagram: WirePermitKind.DATAGRAM,
  request: WirePermitKind.REQUEST,
  datagram_request: WirePermitKind.DATAGRAM_REQUEST,
  connection: WirePermitKind.CONNECTION,
}

/** All services of the protocol. The last three belong to the first generation of the protocol. */
export const linkServices = {
  registry: RegistryApi,
  driverInfo: DriverInfoApi,
  discover: DeviceDiscoverApi,
  deviceInfo: DeviceInfoApi,
  identifiers: IdentifiersApi,
  artefactUpdate: ArtefactUpdateApi,
  artefactTransfer: ArtefactTransferApi,
  alarms: AlarmEventApi,
  driverEvents: DriverEventApi,
  permits: PermitApi,
  sentFunctions: SentFunctionsApi,
  firstDiscovery: DeviceDiscoveryApi,
  firstFirmwareUpdate: FirmwareupdateApi,
  firstStatus: DcdStatus,
} as const
export type LinkService = keyof typeof linkServices

/**
 * The vendor prefix of the service `artefactTransfer`, an earlier variant of `artefactUpdate` that can also read artefacts
 * from a device. Links serve it only with this prefix: `factory_x.artefact_update.v1`.
 */
export const artefactTransferVendor = 'factory_x'

/** Returns the name of a service's interface for a vendor. Links register this name. */
export function interfaceName(service: DescService, vendor: string = ourVendor): string {
  return `${vendor}.${service.file.proto.package.slice(ourVendor.length + 1)}`
}

/** Returns the name of a service's interface on a link with this vendor prefix. One service always has its own prefix. */
export function interfaceNameOnLink(service: DescService, vendor: string): string {
  const isTransfer = service.typeName === ArtefactTransferApi.typeName
  return interfaceName(service, isTransfer ? artefactTransferVendor : vendor)
}

/** Returns the service and the vendor of an interface name. */
export function parseInterfaceName(name: string): { service: LinkService; vendor: string } | undefined {
  for (const [service, description] of Object.entries(linkServices)) {
    const vendor = name.slice(0, Math.max(0, name.length - interfaceName(description, '').length))
    if (vendor !== '' && name === interfaceName(description, vendor)) return { service: service as LinkService, vendor }
  }
  return undefined
}

/**
 * One method in the form that @grpc/grpc-js uses for servers and clients. A request can omit fields that have a default.
 */
export type WireMethod<Method extends DescMethod = DescMethod> = {
  path: string
  requestStream: boolean
  responseStream: boolean
  requestSerialize: (value: MessageInitShape<Method['input']>) => Buffer
  requestDeserialize: (bytes: Buffer) => MessageShape<Method['input']>
  responseSerialize: (value: MessageInitShape<Method['output']>) => Buffer
  responseDeserialize: (bytes: Buffer) => MessageShape<Method['output']>
}

/**
 * Returns the wire format of a method. `interfaceNamed` selects the vendor, for example
 * `siemens.connectivitysuite.registry.v1`. The default is our own vendor prefix.
 */
export function wireMethod<Method extends DescMethod>(method: Method, interfaceNamed?: string): WireMethod<Method> {
  const { input, output, methodKind } = method
  return {
    path: `/${interfaceNamed ?? interfaceName(method.parent)}.${method.parent.name}/${method.name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: (value) => asBuffer(toBinary(input, create(input, value))),
    requestDeserialize: (bytes) => fromBinary(input, bytes) as MessageShape<Method['input']>,
    responseSerialize: (value) => asBuffer(toBinary(output, create(output, value))),
    responseDeserialize: (bytes) => fromBinary(output, bytes) as MessageShape<Method['output']>,
  }
}

/** All methods of a service, in the form that `server.addService` of @grpc/grpc-js expects. */
export type WireService<Service extends DescService> = {
  [Name in keyof Service['method']]: WireMethod<Service['method'][Name]>
}

export function wireService<Service extends DescService>(
  service: Service,
  interfaceNamed?: string,
): WireService<Service> {
  return Object.fromEntries(
    service.methods.map((method) => [method.localName, wireMethod(method, interfaceNamed)]),
  ) as WireService<Service>
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const ticksPerMillisecond = 10_000n
const millisecondsFrom1601To1970 = 11_644_473_600_000n

/** Converts a time to a timestamp of the protocol, which counts steps of 100 nanoseconds since 1601-01-01 UTC. */
export function ticksOf(time: Date): bigint {
  return (BigInt(time.getTime()) + millisecondsFrom1601To1970) * ticksPerMillisecond
}

export function timeOfTicks(ticks: bigint): Date {
  return new Date(Number(ticks / ticksPerMillisecond - millisecondsFrom1601To1970))
}
