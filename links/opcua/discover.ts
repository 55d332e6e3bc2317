import type { Credential } from '@millwright/link-sdk/credential.ts'
import type { Address, DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { macAddressOf } from '@millwright/link-sdk/network/neighbours.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { isExcluded, scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { sweep } from '@millwright/link-sdk/network/sweep.ts'
import { assetsOf } from './asset.ts'
import { mostRequests, nameOf, readServer, type Server, serverLimit } from './device.ts'
import { anonymous, type Identity, identityOf } from './identity.ts'
import { knownDevices } from './known-places.ts'
import { type Library, loadLibrary } from './library.ts'
import { placeOf, type ScanOptions, scanOptionsOf } from './options.ts'

/** `Visit` is one address of a scan, with the ports and the users to try there. */
type Visit = { address: string; ports: readonly number[]; identities: readonly Identity[] }
type Scan = DiscoverCall & {
  settings: ScanOptions
  library: Library
  /** An object that stands for the scan of a range. It is absent if the call names the servers. */
  scanned: object | undefined
}

/** Yields the servers of the range, or of the targets if they have addresses. */
export async function* discover(call: DiscoverCall): AsyncGenerator<DiscoveryResult> {
  const { signal, progress } = call
  const settings = scanOptionsOf(call.options)
  const { visits, total, isRange } = visitsOf(call, settings)
  const library = await loadLibrary()
  signal.throwIfAborted()
  const scan: Scan = { ...call, settings, library, scanned: isRange ? visits : undefined }
  yield* sweep(visits, {
    parallel: settings.parallel,
    signal,
    work: (visit, workSignal) => scanAddress(visit, { ...scan, signal: workSignal }),
    onDone: (completed) => progress((completed / Math.max(total, 1)) * 100),
  })
}

function visitsOf({ filters, targets }: DiscoverCall, { ports }: ScanOptions) {
  const named = targets.filter(({ address }) => Object.keys(address).length > 0)
  if (named.length > 0) {
    const all = named.map((target): Visit => {
      const { address, port } = placeOf(target.address)
      return { address, ports: [port], identities: target.credentials.map(identityOf) }
    })
    const visits = all.filter(({ address }) => !isExcluded(address, filters))
    return { visits, total: visits.length, isRange: false }
  }
  const identities = identitiesOf(targets.flatMap(({ credentials }) => credentials))
  const range = scanRangeOf(filters)
  const visits = range.addresses().map((address): Visit => ({ address, ports, identities }))
  return { visits, total: range.size, isRange: true }
}

/** Credentials for all servers are tried first. A server that does not accept them is read without credentials. */
function identitiesOf(credentials: readonly Credential[]): Identity[] {
  return credentials.length === 0 ? [] : [...credentials.map(identityOf), anonymous]
}

/** Yields the servers at one address. The ports are visited one after the other. */
async function* scanAddress({ address, ports, identities }: Visit, scan: Scan): AsyncGenerator<DiscoveryResult> {
  const queue = [...ports]
  const visited = new Set(queue)
  for (let port = queue.shift(); port !== undefined; port = queue.shift()) {
    try {
      const server = await readAt({ address, port, identities }, scan)
      if (server === undefined) continue
      const others = scan.settings.followDiscoveryServers ? listedPorts(server, address) : []
      const added = others.filter((one) => !visited.has(one)).slice(0, mostListedPorts)
      for (const one of added) queue.push(one)
      for (const one of added) visited.add(one)
      yield* resultsOf(server, { address, port }, scan)
    } catch (error) {
      scan.signal.throwIfAborted()
      if (error instanceof PermitRefusedError && error.reason === 'excluded') return
      if (error instanceof PermitRefusedError || !(error instanceof LinkError)) throw error
      yield { error, address: { ip_address: address, port } }
    }
  }
}

const mostListedPorts = 16

type ServerAddress = { address: string; port: number }

async function readAt({ identities, ...place }: ServerAddress & { identities: readonly Identity[] }, scan: Scan) {
  const { library, settings, home } = scan
  const { connectMs, answerMs, deviceSeconds, allowPlainPassword, localAddress } = settings
  using limit = serverLimit(place, { seconds: deviceSeconds, canceled: scan.signal })
  const { signal, start: onConnect } = limit
  const permits = limit.permits(scan.permits)
  const requests = { left: mostRequests }
  const contact = { library, ...place, localAddress, permits, signal, onConnect, connectMs, answerMs, home, requests }
  return await readServer(contact, { identities, allowPlainPassword })
}

/** Returns the ports of the servers that a discovery server lists on its own host. */
function listedPorts({ application, endpoints, listed }: Server, address: string): number[] {
  const own = [...application.discoveryUrls, ...endpoints.map(({ url }) => url)]
  const hosts = new Set([address, ...own.flatMap((url) => hostAndPort(url)?.host ?? [])])
  const ports = listed
    .flatMap(({ discoveryUrls }) => discoveryUrls)
    .flatMap((url) => {
      const place = hostAndPort(url)
      return place !== undefined && hosts.has(place.host) ? [place.port] : []
    })
  return [...new Set(ports)]
}

function hostAndPort(url: string): { host: string; port: number } | undefined {
  const [, host, port] = /^opc\.tcp:\/\/([^/:]+):(\d{1,5})(?:\/|$)/i.exec(url) ?? []
  const number = Number(port)
  return host === undefined || number < 1 || number > 65_535 ? undefined : { host: host.toLowerCase(), port: number }
}

/**
 * Yields the assets of a server, and the reason why its content could not be read. A discovery server that lists other
 * servers is not a device.
 */
async function* resultsOf(
  server: Server,
  { address, port }: ServerAddress,
  { scanned }: Scan,
): AsyncGenerator<DiscoveryResult> {
  const place = { ip_address: address, port }
  if (server.listed.length > 0) return
  const macAddress = await macAddressOf(address)
  const assets = assetsOf(server, { address, port, macAddress })
  const found = (asset: Asset, at: Address): DiscoveryResult => {
    knownDevices.add(asset, at, { scan: scanned, macAddress })
    return { asset, address: at }
  }
  if (assets.server !== undefined) yield found(assets.server, place)
  else if (server.refusal === undefined) yield { error: unidentifiedError({ address, port }), address: place }
  for (const { device, asset } of assets.modules) yield found(asset, { ...place, device })
  if (assets.unidentified.length > 0) {
    yield { error: unidentifiedModules(assets.unidentified, { address, port }), address: place }
  }
  if (server.refusal !== undefined) yield { error: server.refusal, address: place }
}

function unidentifiedError(place: ServerAddress): LinkError {
  return new LinkError(
    'FAILED_PRECONDITION',
    `${nameOf(place)} cannot be identified: it has no certificate, its nameplate has no serial number with manufacturer and product, and its MAC address is not known because it is in another network segment.`,
  )
}

function unidentifiedModules(devices: readonly string[], place: ServerAddress): LinkError {
  const names = devices.slice(0, 5).join(', ')
  const more = devices.length > 5 ? ` and ${devices.length - 5} more` : ''
  return new LinkError(
    'FAILED_PRECONDITION',
    `${nameOf(place)} contains devices that cannot be identified, because they have no serial number with manufacturer and product: ${names}${more}.`,
  )
}
