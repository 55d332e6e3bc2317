import { isIP } from 'node:net'
import type { VariantValue } from '@millwright/api/variant.ts'
import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { arpTable } from '@millwright/link-sdk/network/neighbours.ts'
import type { Options } from '@millwright/link-sdk/parameters.ts'
import { macManufacturer } from '../mac-manufacturer.ts'
import { assetOf } from './asset.ts'
import { ProbeError } from './device.ts'
import { type Host, type HostProbes, probeHost, type Surroundings } from './host.ts'
import { hostNames } from './host-name.ts'
import { defaultOptions, probesOf, scanOptionsOf, thisMachine } from './options.ts'

/** Finds the IP address of a device by its MAC address. Tests replace it. */
type FindAddress = (macAddress: string) => Promise<string | undefined>

type ReadSettings = { surroundings?: Surroundings; findAddress?: FindAddress; options?: Options }

/** Probes one device with the default options, and returns its asset fields, its reachability and its open ports. */
export async function properties(
  { permits, signal, log, device }: PropertiesCall,
  {
    surroundings = thisMachine(),
    findAddress = arpTable.ipAddressOf,
    options: given = defaultOptions,
  }: ReadSettings = {},
): Promise<PropertyValues> {
  const address = await addressOf(device, findAddress)
  const options = scanOptionsOf(given)
  const probes = await probesOf(options, { permits, signal, log, surroundings })
  const startedMs = performance.now()
  const host = await answerOf(address, probes)
  const durationMs = Math.round(performance.now() - startedMs)
  const names = options.reverseDns ? hostNames({ server: options.dnsServer, permits, signal, log }) : undefined
  const name = await names?.(address)
  return {
    ...(host.macAddress === undefined ? {} : await assetFields(host, host.macAddress, name)),
    name,
    reachability: { ip_address: address, evidence: host.evidence, probe_duration_ms: durationMs },
    open_tcp_ports: [...host.openPorts],
  }
}

/** Returns the keys without sending anything, because they are the same for all devices. */
export function supportedProperties(): SupportedProperty[] {
  return [
    { key: 'name', type: 'text' },
    { key: 'functional_object_type', type: 'text' },
    { key: 'functional_object_schema_url', type: 'text' },
    { key: 'asset_identifiers', type: 'array' },
    { key: 'product_instance_information', type: 'structure' },
    { key: 'connection_points', type: 'array' },
    { key: 'instance_annotations', type: 'array' },
    { key: 'reachability', type: 'structure' },
    { key: 'open_tcp_ports', type: 'array' },
  ]
}

async function answerOf(address: string, probes: HostProbes): Promise<Host> {
  const host = await probeHost(address, probes).catch((error: unknown) => {
    if (!(error instanceof ProbeError)) throw error
    throw new LinkError('UNAVAILABLE', `The gateway cannot send to ${address} (${error.code}).`, { cause: error })
  })
  // An entry that existed before shows only that the device answered at some time.
  if (host !== undefined && host.evidence !== 'old_arp') return host
  throw new LinkError('UNAVAILABLE', `${address} does not answer.`)
}

async function assetFields(
  { address, openPorts }: Host,
  macAddress: string,
  name: string | undefined,
): Promise<Record<string, VariantValue>> {
  const manufacturer = await macManufacturer(macAddress)
  const asset = assetOf({ macAddress, addresses: [address], openPorts, name, manufacturer })
  return asset as Record<string, VariantValue>
}

async function addressOf({ address, identifiers }: Target, findAddress: FindAddress): Promise<string> {
  if (typeof address.ip_address === 'string' && isIP(address.ip_address) === 4) return address.ip_address
  for (const { mac_address: mac } of identifiers) {
    const found = typeof mac === 'string' ? await findAddress(mac) : undefined
    if (found !== undefined) return found
  }
  throw new LinkError('UNAVAILABLE', 'The IP address of the device is not known. Scan its network again.')
}
