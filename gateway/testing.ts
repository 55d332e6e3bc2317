import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import {
  createServer,
  type Server as HttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { credentials, type GrpcObject, loadPackageDefinition, Server, ServerCredentials, status } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import type { CertificateWithKey } from '@millwright/api/certificates.ts'
import { type AddressCredentials, gatekeeper } from '@millwright/api/gatekeeper.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { gatewayTunnelProtocol } from '@millwright/api/remote-access.ts'
import { growingPause } from '@millwright/api/test-effort.ts'
import { calculateJwkThumbprint, compactVerify, EmbeddedJWK, importJWK, type JWK, jwtVerify } from 'jose'
import Value from 'typebox/value'
import { type WebSocket, WebSocketServer } from 'ws'
import type { GatewaySettings } from './settings.ts'

/**
 * This file contains the test support of the gateway: a cloud with one gateway, and links that do not use the generated
 * protocol code.
 */

const folders: string[] = []
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Creates a temporary folder that is deleted when the process ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
  folders.push(folder)
  return folder
}

export function settingsFor(home: string, more: Partial<GatewaySettings> = {}): GatewaySettings {
  return {
    home,
    configFile: join(home, 'gateway-config.json'),
    registryHost: '127.0.0.1',
    registryPort: 0,
    proxyPort: 0,
    tlsHost: undefined,
    tlsPort: undefined,
    agentTlsPort: undefined,
    tlsNames: [],
    linkVendors: ['millwright', 'siemens'],
    links: [],
    spoolBytes: 64 * 1024 * 1024,
    linkSilenceMs: 300_000,
    artefactCacheBytes: 256 * 1024 * 1024,
    outgoingProxy: undefined,
    logLevel: 'silent',
    tracesUrl: undefined,
    ...more,
  }
}

type Awaitable<Result> = Result | Promise<Result>

const untilLimitMs = 300_000

/** Polls until the condition returns a result. Fails after five minutes, which is long enough for a busy machine. */
export async function until<Result>(condition: () => Awaitable<Result | undefined | false>): Promise<Result> {
  const deadline = performance.now() + untilLimitMs
  const pause = growingPause()
  while (performance.now() < deadline) {
    const result = await condition()
    if (result !== undefined && result !== false) return result
    await pause()
  }
  throw new Error(`The condition was not fulfilled within ${untilLimitMs / 1000} s: ${condition}`)
}

// biome-ignore lint/suspicious/noExplicitAny: bodies are checked against the contracts before they are used
type Body = any
export type Call = { operation: string; params: Record<string, string>; body: Body }
type Answer = { status: number; body?: unknown }

const gatewayId = '0198f0c2-7b1e-7c3a-9d55-0242ac120002'

/**
 * `TestCloud` is a cloud with one gateway. It checks contracts, tokens and proofs in the same way as the real cloud.
 */
export class TestCloud {
  readonly calls: Call[] = []
  /** All received requests, including requests for operations that this cloud does not have. */
  readonly requests: { method: string; url: string; headers: IncomingHttpHeaders }[] = []
  readonly jobs: { id: string; workflow: string; definition: Record<string, unknown>; state?: string }[] = []
  readonly leases = new Map<string, string>()
  /**
   * Returns the response that replaces the normal response to a call, or undefined. Tests set this function to simulate
   * failures.
   */
  answering: (call: Call) => Answer | undefined | Promise<Answer | undefined> = () => undefined
  /** Handles requests outside the contracts of this cloud. Returns false for other requests. */
  handling: (request: IncomingMessage, response: ServerResponse, url: URL) => Awaitable<boolean> = () => false
  isRevoked = false
  tokens = 0
  tokenSeconds = 3600
  #refusedTokens = 0
  #leaseRequests = 0
  clockAheadMs = 0
  key: JWK | undefined
  readonly canceled = new Set<string>()
  /** The credentials that the cloud returns for each address. */
  readonly credentials = new Map<string, AddressCredentials['credentials']>()
  readonly #server: HttpServer
  readonly #scheme: 'http' | 'https'
  readonly #proofs = new Set<string>()
  #port = 0
  readonly #waiting = new Set<() => void>()

  constructor(tls?: CertificateWithKey) {
    const onRequest = (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch((error: unknown) => {
        response.writeHead(500).end(JSON.stringify({ detail: String(error) }))
      })
    }
    this.#scheme = tls === undefined ? 'http' : 'https'
    this.#server =
      tls === undefined ? createServer(onRequest) : createTlsServer({ cert: tls.certificate, key: tls.key }, onRequest)
  }

  /** Starts a cloud. With a certificate, it accepts only connections with TLS. */
  static async start(port = 0, tls?: CertificateWithKey): Promise<TestCloud> {
    const cloud = new TestCloud(tls)
    await cloud.listen(port)
    return cloud
  }

  async listen(port = this.#port): Promise<void> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.#port}`
  }

  /** Writes the configuration file of a new gateway to the folder `home`. */
  configure(home: string, more: Record<string, unknown> = {}): void {
    const config = {
      schema: 'millwright.gateway-config.v1',
      baseUrl: this.url,
      gatewayId,
      name: 'Line 1',
      enrolmentToken: 'secret-of-the-file',
      expiresTimestamp: new Date(Date.now() + 1_800_000).toISOString(),
      ...more,
    }
    writeFileSync(join(home, 'gateway-config.json'), JSON.stringify(config))
  }

  /** Offers a job. A discovery job belongs to a run, as in the real cloud. */
  offer(workflow: string, definition: Record<string, unknown>): string {
    const id = crypto.randomUUID()
    const run = workflow === 'discovery' ? { runId: crypto.randomUUID(), discoveryId: crypto.randomUUID() } : {}
    this.jobs.push({ id, workflow, definition: { ...run, ...definition } })
    this.wake()
    return id
  }

  /** Ends the session of a stopped gateway: no request that it sent before can take a job from now on. */
  async endSession(): Promise<void> {
    this.#refusedTokens = this.tokens
    await until(() => this.#leaseRequests === 0)
  }

  wake(): void {
    for (const waiting of this.#waiting) waiting()
  }

  /** Accepts the tunnels of the gateway. Without this function, the cloud has no remote access. */
  acceptTunnels(onTunnel: (socket: WebSocket) => void): void {
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => gatewayTunnelProtocol })
    this.#server.on('upgrade', (request, connection, head) => {
      this.requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers })
      this.#isOurs(request, new URL(request.url ?? '/', this.url))
        .catch(() => false)
        .then((isOurs) => {
          if (isOurs) sockets.handleUpgrade(request, connection, head, onTunnel)
          else connection.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n')
        })
    })
  }

  callsOf(operation: string): Call[] {
    return this.calls.filter((call) => call.operation === operation)
  }

  /** Returns the assets that were uploaded for a job. A repeated upload counts once. */
  found(jobId: string): Record<string, unknown>[] {
    const uploads = this.callsOf('uploadFound').filter(({ params }) => params.id === jobId)
    const once = new Map(uploads.map(({ body }) => [`${body.data.lease}/${body.data.sequence}`, body.data.assets]))
    return [...once.values()].flat()
  }

  errors(jobId: string): Record<string, unknown>[] {
    const uploads = this.callsOf('uploadFound').filter(({ params }) => params.id === jobId)
    return uploads.flatMap(({ body }) => body.data.errors)
  }

  endOf(jobId: string): Body | undefined {
    return this.callsOf('endJob').find(({ body }) => body.data.jobId === jobId)?.body.data
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers })
    response.setHeader('date', new Date(this.#now()).toUTCString())
    const url = new URL(request.url ?? '/', this.url)
    if (url.pathname === '/oauth/token') return this.#token(await text(request), response)
    if (url.pathname === '/gatekeeper/v1/jobs/events') return this.#events(request, response)
    if (url.pathname.startsWith('/updates/')) {
      if (!(await this.#isOurs(request, url))) return send(response, { status: 401, body: { code: 'unauthenticated' } })
      if (await this.handling(request, response, url)) return
    }
    const route = operationAt(request.method ?? '', url.pathname)
    if (route === undefined) return send(response, { status: 404, body: { code: 'not_found', detail: url.pathname } })
    const body: Body = await json(request)
    const { contract, operation, name, params } = route
    if (operation.body !== undefined && !Value.Check(operation.body, body)) {
      const [error] = Value.Errors(operation.body, body)
      throw new Error(`${name} broke its contract: ${JSON.stringify(error)}`)
    }
    if (contract === gatekeeper && !(await this.#isOurs(request, url))) {
      return send(response, { status: 401, body: { code: 'unauthenticated', detail: 'no' } })
    }
    const call = { operation: name, params, body }
    this.calls.push(call)
    send(response, (await this.answering(call)) ?? (await this.#answer(call)))
  }

  #now(): number {
    return Date.now() + this.clockAheadMs
  }

  async #token(form: string, response: ServerResponse): Promise<void> {
    const { client_assertion: assertion = '', grant_type: grant } = Object.fromEntries(new URLSearchParams(form))
    try {
      if (this.isRevoked || grant !== 'client_credentials') throw new Error('revoked')
      await jwtVerify(assertion, await importJWK(this.key ?? {}, 'ES256'), {
        audience: `${this.url}/oauth/token`,
        issuer: 'gateway-client',
        subject: 'gateway-client',
        currentDate: new Date(this.#now()),
        maxTokenAge: '5 minutes',
      })
    } catch (error) {
      return send(response, { status: 401, body: { error: 'invalid_client', error_description: String(error) } })
    }
    this.tokens += 1
    const body = { access_token: `token-${this.tokens}`, token_type: 'Bearer', expires_in: this.tokenSeconds }
    send(response, { status: 200, body })
  }

  async #isOurs({ headers, method }: IncomingMessage, url: URL): Promise<boolean> {
    const token = headers.authorization?.replace(/^Bearer /, '') ?? ''
    const number = Number(/^token-(\d+)$/.exec(token)?.[1])
    if (this.isRevoked || Number.isNaN(number)) return false
    const { payload, protectedHeader } = await jwtVerify(String(headers.dpop), EmbeddedJWK, {
      typ: 'dpop+jwt',
      currentDate: new Date(this.#now()),
      maxTokenAge: '60 seconds',
      clockTolerance: 5,
    })
    const isNew = !this.#proofs.has(String(payload.jti))
    this.#proofs.add(String(payload.jti))
    const thumbprint = await calculateJwkThumbprint(protectedHeader.jwk as JWK)
    return (
      isNew &&
      number > this.#refusedTokens &&
      payload.htm === method &&
      payload.htu === url.origin + url.pathname &&
      payload.ath === createHash('sha256').update(token).digest('base64url') &&
      thumbprint === (await calculateJwkThumbprint(this.key ?? {}))
    )
  }

  async #answer({ operation, params, body: { data } }: Call): Promise<Answer> {
    if (operation === 'enrol') return this.#enrol(data)
    if (operation === 'leaseJob') return this.#lease(data.workflows)
    if (operation === 'reportLinks') return { status: 200, body: { data: [] } }
    if (operation === 'uploadReceipt') return { status: 204 }
    if (operation === 'uploadFound') return { status: 202, body: { data: { accepted: data.assets.length } } }
    if (operation === 'requestCredentials') return this.#credentialsFor(params.id ?? '', data)
    if (this.leases.get(data.jobId) !== params.id) return { status: 409, body: { code: 'lease_lost', detail: 'lost' } }
    if (operation === 'endJob') return { status: 200, body: { data: { state: data.state } } }
    const lease = { id: params.id, expiresTimestamp: new Date(Date.now() + 30_000).toISOString() }
    return { status: 200, body: { data: { lease, cancelRequested: this.canceled.has(data.jobId) } } }
  }

  #credentialsFor(jobId: string, { lease, addresses }: Body): Answer {
    if (this.leases.get(jobId) !== lease) return { status: 409, body: { code: 'lease_lost', detail: 'lost' } }
    const data = addresses.map((address: string) => {
      const credentials = this.credentials.get(address) ?? []
      return { address, known: false, credentials }
    })
    return { status: 200, body: { data } }
  }

  async #enrol(data: Body): Promise<Answer> {
    const { payload } = await compactVerify(data.proof, await importJWK(data.publicKey, 'ES256'))
    const said = JSON.parse(new TextDecoder().decode(payload))
    const isFresh = Math.abs(said.iat * 1000 - this.#now()) < 60_000
    if (said.enrolmentToken !== 'secret-of-the-file' || said.gatewayId !== data.gatewayId || !isFresh) {
      return { status: 403, body: { code: 'enrolment_refused', detail: 'The gateway-config.json was already used' } }
    }
    this.key = data.publicKey
    return { status: 200, body: { data: { gatewayId, tenantName: 'plant', clientId: 'gateway-client' } } }
  }

  async #lease(workflows: string[]): Promise<Answer> {
    const take = () => this.jobs.findIndex(({ workflow }) => workflows.includes(workflow))
    this.#leaseRequests += 1
    if (take() === -1) await this.#jobWithin(1_000)
    this.#leaseRequests -= 1
    const [job] = take() === -1 ? [] : this.jobs.splice(take(), 1)
    if (job === undefined) return { status: 204 }
    const lease = crypto.randomUUID()
    this.leases.set(job.id, lease)
    const now = new Date().toISOString()
    const status = { state: job.state ?? 'RUNNING' }
    const workflow = { name: job.workflow, states: [{ name: 'CREATED' }], transitions: [] }
    const { id, definition } = job
    const shown = { id, clientId: gatewayId, workflow, tags: [], definition, status, stime: now, mtime: now }
    return { status: 200, body: { data: { job: shown, lease: { id: lease, expiresTimestamp: now } } } }
  }

  #jobWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#waiting.add(done)
    })
  }

  async #events(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!(await this.#isOurs(request, new URL('/gatekeeper/v1/jobs/events', this.url)))) {
      return send(response, { status: 401, body: {} })
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: first\n\n')
    this.#waiting.add(() => response.write('data: second\n\n'))
  }
}

function operationAt(method: string, path: string) {
  for (const contract of [gatekeeper, onboarding]) {
    for (const [name, operation] of Object.entries(contract.operations)) {
      const pattern = (contract.prefix + operation.path).replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
      const match = operation.method === method ? new RegExp(`^${pattern}$`).exec(path) : null
      if (match !== null)
        return { contract, operation: operation as { body?: object }, name, params: { ...match.groups } }
    }
  }
  return undefined
}

function send(response: ServerResponse, { status, body }: Answer): void {
  const type = status >= 400 ? 'application/problem+json' : 'application/json'
  response.writeHead(status, { 'content-type': type }).end(body === undefined ? undefined : JSON.stringify(body))
}

const packages = new Map<string, GrpcObject>()

/**
 * Returns the protocol with the prefix of a vendor. It is loaded from the .proto files by a library, without the
 * generated protocol code.
 */
// biome-ignore lint/suspicious/noExplicitAny: the library has no types for what it loads
export function protocol(vendor: string): any {
  const cached = packages.get(vendor)
  if (cached !== undefined) return cached[vendor]
  const folder = temporaryFolder()
  const sources = join(import.meta.dirname, '..', 'api', 'proto')
  for (const name of globSync('*.proto', { cwd: sources })) {
    cpSync(join(sources, name), join(folder, name))
    writeFileSync(join(folder, name), readFileSync(join(folder, name), 'utf8').replaceAll('millwright.', `${vendor}.`))
  }
  const options = { keepCase: true, includeDirs: [folder], longs: String, defaults: true, oneofs: true }
  const made = loadPackageDefinition(loadSync(globSync('*.proto', { cwd: folder }), options))
  rmSync(folder, { recursive: true })
  packages.set(vendor, made)
  return made[vendor]
}

// biome-ignore lint/suspicious/noExplicitAny: as above
type GrpcCall = any
type Handlers = Record<string, Record<string, (call: GrpcCall, answer: GrpcCall) => void>>

/**
 * `TestLink` is a link that does not use the generated protocol code. The keys of its handlers are paths below the
 * vendor prefix, such as `industrialassethub.discover.v1`. A key can name another vendor: `factory_x/artefact_update.v1`.
 */
export class TestLink {
  readonly port: number
  readonly vendor: string
  readonly #server: Server

  private constructor(server: Server, { port, vendor }: { port: number; vendor: string }) {
    this.#server = server
    this.port = port
    this.vendor = vendor
  }

  static async start(handlers: Handlers, vendor = 'siemens', port = 0): Promise<TestLink> {
    const server = new Server({ 'grpc.so_reuseport': 0 })
    for (const [key, methods] of Object.entries(handlers)) {
      const [path = '', other = vendor] = key.split('/').toReversed()
      server.addService(serviceAt(other, path), methods)
    }
    const bound = await new Promise<number>((resolve, reject) =>
      server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, at) =>
        error === null ? resolve(at) : reject(error),
      ),
    )
    return new TestLink(server, { port: bound, vendor })
  }

  stop(): void {
    this.#server.forceShutdown()
  }

  [Symbol.dispose](): void {
    this.stop()
  }
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function packageAt(vendor: string, path: string): any {
  return path.split('.').reduce((at, name) => at[name], protocol(vendor))
}

function serviceAt(vendor: string, path: string) {
  const definitions = packageAt(vendor, path)
  const name = Object.keys(definitions).find((key) => 'service' in definitions[key]) ?? ''
  return definitions[name].service
}

/**
 * Returns a function that calls a registry without the generated protocol code. The function returns the response, or
 * throws an error with the status code.
 */
export function askRegistry(port: number, vendor: string) {
  const { RegistryApi } = packageAt(vendor, 'connectivitysuite.registry.v1')
  return (method: string, request: object): Promise<Body> => {
    const client = new RegistryApi(`127.0.0.1:${port}`, credentials.createInsecure())
    return new Promise((resolve, reject) =>
      client[method](request, (error: Error | null, answer: Body) =>
        error === null ? resolve(answer) : reject(error),
      ),
    ).finally(() => client.close())
  }
}

const classUri = (name: string) => `https://schema.industrial-assets.io/base/v0.12.0/${name}#`

/** Returns a device identifier with a text value, in the same format as links that use the public SDK. */
export const field = (path: string, text: string, className = 'Asset') => ({
  text,
  classifiers: [{ type: 'URI', value: classUri(className) + path }],
})

/** Returns one element of a list field of a device. */
export const list = (path: string, ...value: object[]) => ({
  children: { value },
  classifiers: [{ type: 'URI', value: `${classUri('Asset')}${path}` }],
})

/** Returns a relationship between two devices. Newer links send relationships in the list of devices. */
export const relationship = (subject: string, predicate: string, object: string) => ({
  identifiers: Object.entries({ subject, predicate, object }).map(([name, text]) =>
    field(`asset_relationship/${name}`, text, 'DeviceRelationship'),
  ),
})

export const versionInfo: Handlers = {
  'connectivitysuite.drvinfo.v1': {
    GetVersionInfo: (_, answer) => answer(null, { version: { major: 3, minor: 7, patch: 4 } }),
  },
}

/**
 * Returns the discovery interface of a link that uses the public SDK. If the link has no filters, the call that reads
 * them returns an error.
 */
export const discoveryInterface = (discover: (call: GrpcCall) => void, filters?: object[]): Handlers => ({
  'industrialassethub.discover.v1': {
    GetFilterTypes: (_, answer) =>
      filters === undefined
        ? answer({ code: status.UNKNOWN, details: 'no supported filters' })
        : answer(null, { filter_types: filters }),
    GetFilterOptions: (_, answer) => answer({ code: status.UNKNOWN, details: 'no supported options' }),
    DiscoverDevices: discover,
  },
})
