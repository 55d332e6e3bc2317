import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { type TimeLimit, timeLimit } from '@millwright/link-sdk/network/timer.ts'
import type { DataValue, FindServersResponse, GetEndpointsResponse } from 'node-opcua-client'
import { Channel, type Contact, ServiceError } from './channel.ts'
import { type ClientCertificate, clientCertificate } from './client-certificate.ts'
import { type Application, applicationOf, type Endpoint, endpointsOf } from './endpoints.ts'
import { type Access, accessFor, anonymous, type Identity } from './identity.ts'
import { type DeviceNode, readDevices, textOf } from './nameplate.ts'
import { Session } from './session.ts'
import { TransportError } from './transport.ts'

/** `Server` is what the link learned about an OPC UA server. */
export type Server = {
  application: Application
  endpoints: Endpoint[]
  /** The servers that a discovery server lists. */
  listed: Application[]
  /** The content of the address space. It is missing if the link could not sign in. */
  content?: ServerContent
  /** The reason why the content is missing. */
  refusal?: LinkError
}

/** `ServerContent` is what the link read in a session. */
type ServerContent = {
  build: BuildInfo
  state: string | undefined
  startTime: Date | undefined
  currentTime: Date | undefined
  devices: DeviceNode[]
}

export type BuildInfo = {
  productUri?: string | undefined
  manufacturerName?: string | undefined
  productName?: string | undefined
  softwareVersion?: string | undefined
  buildNumber?: string | undefined
  buildDate?: Date | undefined
}

/** The requests that are sent to one server, including those for a second channel. */
export const mostRequests = 60

/** Returns the limit of the time for one server. It starts when the server has accepted a connection. */
export function serverLimit(
  place: Pick<Contact, 'address' | 'port'>,
  { seconds, canceled }: { seconds: number; canceled: AbortSignal },
): TimeLimit {
  const description = `${nameOf(place)} could not be read within ${seconds} seconds. Set the option device_seconds, or exclude the address.`
  return timeLimit({ ms: seconds * 1_000, canceled, reason: () => new LinkError('OUT_OF_RANGE', description) })
}

type ReadOptions = { identities: readonly Identity[]; allowPlainPassword: boolean }

/**
 * Reads a server: its endpoints, and with a session its build information and nameplates. Returns undefined if the port
 * does not accept connections. Throws a `LinkError` if the server does not describe its endpoints.
 */
export async function readServer(contact: Contact, options: ReadOptions): Promise<Server | undefined> {
  const endpointUrl = urlOf(contact, '')
  try {
    await using plain = new PlainChannel(contact, endpointUrl)
    const channel = await plain.open()
    if (channel === undefined) return undefined
    const server = await describe(channel, contact, endpointUrl)
    if (server.listed.length > 0) return server
    return { ...server, ...(await readContent(plain, server, { ...options, contact })) }
  } catch (error) {
    throw errorOf(error, contact)
  }
}

/**
 * `PlainChannel` is the channel to a server without security. It is closed before another channel to the server is opened,
 * because the budget or the server may allow only one connection.
 */
class PlainChannel implements AsyncDisposable {
  readonly #contact: Contact
  readonly #endpointUrl: string
  #channel: Channel | undefined

  constructor(contact: Contact, endpointUrl: string) {
    this.#contact = contact
    this.#endpointUrl = endpointUrl
  }

  /** Returns the open channel. Opens it if it is closed. */
  async open(): Promise<Channel | undefined> {
    this.#channel ??= await Channel.open(this.#contact, { endpointUrl: this.#endpointUrl })
    return this.#channel
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const channel = this.#channel
    this.#channel = undefined
    await channel?.[Symbol.asyncDispose]()
  }
}

export function nameOf({ address, port }: Pick<Contact, 'address' | 'port'>): string {
  return `The OPC UA server ${address}:${port}`
}

async function describe(channel: Channel, { library }: Contact, endpointUrl: string): Promise<Server> {
  const request = { requestHeader: { timestamp: new Date() }, endpointUrl, localeIds: ['en'] }
  const { endpoints: descriptions } = await channel.send<GetEndpointsResponse>(
    'GetEndpoints',
    new library.GetEndpointsRequest({ ...request, profileUris: [] }),
  )
  const application = applicationOf(descriptions?.[0]?.server)
  const endpoints = endpointsOf(descriptions)
  if (!application.isDiscoveryServer) return { application, endpoints, listed: [] }
  const { servers } = await channel.send<FindServersResponse>(
    'FindServers',
    new library.FindServersRequest({ ...request, serverUris: [] }),
  )
  const listed = (servers ?? []).slice(0, mostServers).map((one) => applicationOf(one))
  return { application, endpoints, listed: listed.filter(({ isDiscoveryServer }) => !isDiscoveryServer) }
}

const mostServers = 32

type ContentOptions = ReadOptions & { contact: Contact }
type Content = Pick<Server, 'content' | 'refusal'>

/**
 * Reads the content with the first user that the server accepts. If it accepts none, the refusal of the first one is the
 * reason, because the others are only alternatives.
 */
async function readContent(plain: PlainChannel, server: Server, options: ContentOptions): Promise<Content> {
  const { identities, allowPlainPassword, contact } = options
  let refusal: LinkError | undefined
  for (const identity of identities.length === 0 ? [anonymous] : identities) {
    try {
      const access = accessFor(identity, server.endpoints, { allowPlainPassword, server: nameOf(contact) })
      const isOpen = access.endpoint.mode === 'None'
      const content = isOpen ? await readOpen(plain, access, contact) : await readSecured(plain, access, contact)
      return { content }
    } catch (error) {
      refusal ??= errorOf(error, contact)
      if (error instanceof PermitRefusedError) throw error
      if (contact.signal.aborted) break
      // A server that does not answer does not answer to another user either.
      if (!(error instanceof LinkError || error instanceof ServiceError)) break
    }
  }
  return refusal === undefined ? {} : { refusal }
}

async function readOpen(plain: PlainChannel, access: Access, contact: Contact): Promise<ServerContent> {
  const channel = await plain.open()
  if (channel === undefined) throw new TransportError(noSecondConnection)
  return await readWith(channel, access, contact)
}

const noSecondConnection = 'the server does not accept a second connection'

async function readSecured(plain: PlainChannel, access: Access, contact: Contact): Promise<ServerContent> {
  const { mode, policyUri, certificate, url } = access.endpoint
  if (mode === 'None' || certificate === undefined) throw new Error('The endpoint has no security.')
  const client = await clientCertificate(contact.library, contact.home)
  const security = { mode, policyUri, serverCertificate: certificate.der, client }
  const endpointUrl = urlOf(contact, url)
  await plain[Symbol.asyncDispose]()
  await using channel = await Channel.open(contact, { endpointUrl, security })
  if (channel === undefined) throw new TransportError(noSecondConnection)
  return await readWith(channel, access, contact, client)
}

async function readWith(
  channel: Channel,
  access: Access,
  contact: Contact,
  client?: ClientCertificate,
): Promise<ServerContent> {
  const { library } = contact
  const endpointUrl = urlOf(contact, access.endpoint.url)
  await using session = await Session.open(channel, { library, access, endpointUrl, client })
  const nodes = Object.values(serverNodes).map((id) => library.coerceNodeId(`i=${id}`))
  const values = await session.read(nodes)
  const value = (name: keyof typeof serverNodes) => values[Object.keys(serverNodes).indexOf(name)]
  const devices = await readDevices(session, { library, namespaces: textsOf(value('namespaceArray')) })
  return {
    build: {
      productUri: textOf(value('productUri')),
      manufacturerName: textOf(value('manufacturerName')),
      productName: textOf(value('productName')),
      softwareVersion: textOf(value('softwareVersion')),
      buildNumber: textOf(value('buildNumber')),
      buildDate: timeOf(value('buildDate')),
    },
    state: stateNames[Number(value('state')?.value?.value ?? -1)],
    startTime: timeOf(value('startTime')),
    currentTime: timeOf(value('currentTime')),
    devices,
  }
}

/** The variables of the object Server (OPC 10000-6, NodeIds.csv). */
const serverNodes = {
  namespaceArray: 2255,
  startTime: 2257,
  currentTime: 2258,
  state: 2259,
  productName: 2261,
  productUri: 2262,
  manufacturerName: 2263,
  softwareVersion: 2264,
  buildNumber: 2265,
  buildDate: 2266,
} as const

/** The names of the enumeration ServerState (OPC 10000-5). */
const stateNames: readonly string[] = [
  'running',
  'failed',
  'no configuration',
  'suspended',
  'shutdown',
  'test',
  'communication fault',
  'unknown',
]

const mostNamespaces = 1_000

function textsOf(value: DataValue | undefined): string[] {
  const content: unknown = value?.value?.value
  return Array.isArray(content) ? content.slice(0, mostNamespaces).map(String) : []
}

/** Returns a time. The times before 1970 are the ways in which servers write "unknown". */
function timeOf(value: DataValue | undefined): Date | undefined {
  const content: unknown = value?.value?.value
  return content instanceof Date && content.getTime() > 0 ? content : undefined
}

/**
 * Returns the URL of an endpoint with the address that was scanned, because servers often report host names that are
 * not known in the network of the gateway.
 */
function urlOf({ address, port }: Contact, reported: string): string {
  const [, path = ''] = /^opc\.tcp:\/\/[^/]*(\/.*)$/.exec(reported) ?? []
  return `opc.tcp://${address}:${port}${path}`
}

const rejectedUser = new Set([0x801f_0000, 0x8020_0000, 0x8021_0000])
/** BadSecurityChecksFailed, and the codes of rejected certificates from BadCertificateInvalid to BadCertificateRevoked. */
const isRejectedCertificate = (code: number) => (code >= 0x8012_0000 && code <= 0x801d_0000) || code === 0x8114_0000

/**
 * Converts any error of a server to a `LinkError` that describes what happened and what to do. Throws the reason of the
 * signal when the call was canceled.
 */
function errorOf(error: unknown, contact: Contact): LinkError {
  const { aborted, reason: cause } = contact.signal
  if (aborted && cause instanceof LinkError) return cause
  contact.signal.throwIfAborted()
  if (error instanceof LinkError) return error
  const server = nameOf(contact)
  const reason = error instanceof Error ? error.message : String(error)
  const code = error instanceof ServiceError || error instanceof TransportError ? (error.statusCode ?? 0) : 0
  if (rejectedUser.has(code)) {
    return new LinkError('UNAUTHENTICATED', `${server} is protected, and it rejects the user: ${reason}.`)
  }
  if (isRejectedCertificate(code)) {
    return new LinkError(
      'PERMISSION_DENIED',
      `${server} does not trust the certificate of the link: ${reason}. Add certificate.pem from the home of the link to the trusted certificates of the server.`,
    )
  }
  return new LinkError('UNAVAILABLE', `${server} could not be read: ${reason}.`, { cause: error })
}
