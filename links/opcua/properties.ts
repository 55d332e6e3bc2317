import type { VariantValue } from '@millwright/api/variant.ts'
import type { PropertiesCall, PropertyValues, SupportedProperty } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { macAddressOf } from '@millwright/link-sdk/network/neighbours.ts'
import { propertyValues } from '@millwright/link-sdk/network/property-values.ts'
import { assetsOf } from './asset.ts'
import { mostRequests, nameOf, readServer, type Server, serverLimit } from './device.ts'
import type { Endpoint } from './endpoints.ts'
import { identityOf } from './identity.ts'
import { addressOf } from './known-places.ts'
import { loadLibrary } from './library.ts'
import { defaultOptions, placeOf, scanOptionsOf } from './options.ts'

/** The time for a read of one server, which has no options. It ends before the gateway stops waiting. */
const readSeconds = 15

/**
 * Reads one server, or one device of its DeviceSet: the fields of the asset, the server status, and the endpoints with
 * their certificates.
 */
export async function properties(
  call: Pick<PropertiesCall, 'device' | 'permits' | 'signal' | 'home'>,
): Promise<PropertyValues> {
  const { device: target, home } = call
  const { address, port, device } = placeOf(await addressOf(target))
  const { connectMs, answerMs } = scanOptionsOf(defaultOptions)
  const library = await loadLibrary()
  const requests = { left: mostRequests }
  using limit = serverLimit({ address, port }, { seconds: readSeconds, canceled: call.signal })
  const { signal, start: onConnect } = limit
  const permits = limit.permits(call.permits)
  const contact = { library, address, port, permits, signal, onConnect, connectMs, answerMs, home, requests }
  const server = await readServer(contact, {
    identities: target.credentials.map(identityOf),
    allowPlainPassword: false,
  })
  if (server === undefined) {
    throw new LinkError('UNAVAILABLE', `${nameOf(contact)} does not respond. Check the device and the network.`)
  }
  if (server.refusal !== undefined) throw server.refusal
  const assets = assetsOf(server, { address, port, macAddress: await macAddressOf(address) })
  const asset = device === undefined ? assets.server : assets.modules.find((one) => one.device === device)?.asset
  if (device !== undefined && asset === undefined) {
    throw new LinkError('NOT_FOUND', `${nameOf(contact)} no longer contains the device ${device}.`)
  }
  return { ...propertyValues(asset ?? {}), ...statusOf(server) }
}

const texts = ['name', 'description', 'functional_object_type', 'functional_object_schema_url', 'server_state']
const structures = ['product_instance_information', 'build_info']
const arrays = ['asset_identifiers', 'connection_points', 'software_components', 'instance_annotations']

export function supportedProperties(): SupportedProperty[] {
  return [
    ...[...texts, 'current_time', 'start_time', 'application_uri'].map((key) => ({ key, type: 'text' as const })),
    ...structures.map((key) => ({ key, type: 'structure' as const })),
    ...[...arrays, 'asset_relations', 'endpoints'].map((key) => ({ key, type: 'array' as const })),
  ]
}

function statusOf({ application, endpoints, content }: Server): Record<string, VariantValue | undefined> {
  const { build, state, currentTime, startTime } = content ?? {}
  const fields = { ...build, buildDate: build?.buildDate?.toISOString() }
  return {
    application_uri: application.uri,
    server_state: state,
    current_time: currentTime?.toISOString(),
    start_time: startTime?.toISOString(),
    build_info: content === undefined ? undefined : filled(fields),
    endpoints: endpoints.map(endpointValue),
  }
}

function endpointValue({ url, mode, policy, tokens, certificate }: Endpoint): VariantValue {
  return filled({
    url,
    security_mode: mode,
    security_policy: policy,
    users: [...new Set(tokens.map(({ type }) => type))].join(', '),
    certificate_hash: certificate?.hash,
    certificate_subject: certificate?.subject,
    certificate_issuer: certificate?.issuer,
    certificate_valid_from: certificate?.validFrom.toISOString(),
    certificate_valid_to: certificate?.validTo.toISOString(),
  })
}

function filled(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  )
}
