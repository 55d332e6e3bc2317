import { isIP } from 'node:net'
import { gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { interfaceName, linkServices, parseInterfaceName } from '@millwright/api/link-protocol.ts'
import type { ServiceInfo, ServiceInfoFilter } from '@millwright/api/proto/generated/registry_pb.js'
import type { TlsPeer } from '../tls/gateway-tls.ts'

/** `Registration` is the registration of a link. */
export type Registration = {
  appInstanceId: string
  host: string
  /**
   * Whether the link registered a host name or an IP address. Clients of the registry receive the address in the same
   * form.
   */
  addressedBy: 'name' | 'number'
  port: number
  appTypes: string[]
  interfaces: string[]
  driverSchemaUris: string[]
  /** The vendor prefix of the link. */
  vendor: string
  /** The certificate with which the link registered over TLS. The gateway calls such a link only over TLS. */
  tls?: TlsPeer
}

export const registrationLimits = {
  text: 256,
  host: 253,
  entries: 64,
  lifeSeconds: gatekeeperLimits.registrationSeconds,
} as const

type Info = Pick<
  ServiceInfo,
  'appInstanceId' | 'grpcIp' | 'grpcIpPortNumber' | 'appTypes' | 'interfaces' | 'driverSchemaUris'
>

/** Validates a registration. Returns the fault if it is invalid. */
export function registrationFrom(info: Info | undefined, vendor: string): Registration | { fault: string } {
  if (info === undefined) return { fault: 'info is missing' }
  const { appInstanceId, grpcIp, grpcIpPortNumber: port, appTypes, interfaces, driverSchemaUris } = info
  if (appInstanceId.trim() === '') return { fault: 'info.app_instance_id is blank' }
  const host = (grpcIp.value ?? '').trim()
  if (host === '') return { fault: 'info.dns_domainname or info.ipv4_address is missing' }
  if (port < 1 || port > 65_535) return { fault: 'info.grpc_ip_port_number must be from 1 to 65535' }
  const long = tooLong({ appInstanceId, host, lists: [appTypes, interfaces, driverSchemaUris] })
  if (long !== undefined) return { fault: long }
  return {
    appInstanceId,
    host,
    addressedBy: grpcIp.case === 'ipv4Address' ? 'number' : 'name',
    port,
    appTypes,
    interfaces: interfaces.length > 0 ? interfaces : interfacesOf(appTypes, vendor),
    driverSchemaUris,
    vendor,
  }
}

function tooLong({ appInstanceId, host, lists }: { appInstanceId: string; host: string; lists: string[][] }) {
  const { text, entries } = registrationLimits
  if (appInstanceId.length > text) return `info.app_instance_id is longer than ${text} characters`
  if (host.length > registrationLimits.host) return `the address is longer than ${registrationLimits.host} characters`
  if (lists.some((list) => list.length > entries)) return `a list in info has more than ${entries} entries`
  if (lists.flat().some((entry) => entry.length > text)) return `an entry in info is longer than ${text} characters`
  return undefined
}

const { driverInfo, driverEvents, discover, alarms, firstDiscovery } = linkServices
const suffixOf = (service: Parameters<typeof interfaceName>[0]) => interfaceName(service, '').slice(1)

/** The interfaces that each application type implies, without the vendor prefix. */
const suffixesByAppType: Readonly<Record<string, readonly string[]>> = {
  'cs-driver': [
    suffixOf(driverInfo),
    suffixOf(driverEvents),
    'connectivitysuite.config.v1',
    'connectivitysuite.data.v1',
  ],
  'noncs-driver': [suffixOf(driverInfo), 'connectivitysuite.config.v1'],
  'cs-gateway': [suffixOf(driverInfo), 'connectivitysuite.config.v1'],
  'cs-import-converter': [suffixOf(driverInfo), 'connectivitysuite.importconverter.v1'],
  'cs-tagbrowser': [suffixOf(driverInfo), 'connectivitysuite.browsing.v2'],
  'cs-alarms-events': [suffixOf(driverInfo), suffixOf(alarms)],
  'iah-discover': [suffixOf(driverInfo), suffixOf(discover)],
  // Links of the first generation have this type and one discovery interface.
  'cdm-device-class-driver': [suffixOf(firstDiscovery)],
}

/**
 * Returns the interfaces of a link that registered no interfaces. They are derived from its application types. An
 * application type that is itself an interface name is used unchanged, because some links register their interfaces in
 * this way.
 */
export function interfacesOf(appTypes: readonly string[], vendor: string): string[] {
  const named = appTypes.flatMap((type) => {
    const suffixes = Object.hasOwn(suffixesByAppType, type) ? suffixesByAppType[type] : undefined
    if (suffixes !== undefined) return suffixes.map((suffix) => `${vendor}.${suffix}`)
    return parseInterfaceName(type) === undefined ? [] : [type]
  })
  return [...new Set(named)]
}

/** Returns the registration as a message for clients of the registry. */
export function infoOf(registration: Registration): Omit<ServiceInfo, '$typeName' | '$unknown'> {
  const { appInstanceId, host, addressedBy, port, appTypes, interfaces, driverSchemaUris } = registration
  return {
    appInstanceId,
    grpcIp: { case: addressedBy === 'number' ? 'ipv4Address' : 'dnsDomainname', value: host },
    grpcIpPortNumber: port,
    appTypes,
    interfaces,
    driverSchemaUris,
  }
}

type Filter = Pick<ServiceInfoFilter, 'appInstanceIds' | 'appTypes' | 'driverSchemaUris' | 'interfaces'>

/**
 * Returns true when a registration matches all properties of the filter. The values of one property are alternatives.
 */
export function matches(registration: Registration, filter: Filter | undefined): boolean {
  if (filter === undefined) return true
  const fits = (requested: readonly string[], has: readonly string[]) =>
    requested.length === 0 || requested.some((value) => has.includes(value))
  return (
    fits(filter.appInstanceIds, [registration.appInstanceId]) &&
    fits(filter.appTypes, registration.appTypes) &&
    fits(filter.driverSchemaUris, registration.driverSchemaUris) &&
    fits(filter.interfaces, registration.interfaces)
  )
}

/**
 * Returns the gRPC address of the link. An IPv6 address needs brackets; some links register one in the field for IPv4.
 */
export function endpointOf({ host, port }: Pick<Registration, 'host' | 'port'>): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}

export function sameRegistration(a: Registration, b: Registration): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
