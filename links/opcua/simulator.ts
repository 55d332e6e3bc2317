import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { AddressSpace, type SimulatedDevice } from './simulator-address-space.ts'
import { Decoder, Encoder, type SimulatedNodeId } from './simulator-encoding.ts'

/**
 * This file contains a small OPC UA server for tests and demonstrations. It serves channels without security. It lists
 * secured endpoints too, but does not open secured channels.
 */

/** `SimulatedServer` describes what the server contains. */
export type SimulatedServer = {
  application?: { uri?: string; productUri?: string; name?: string; type?: 'server' | 'discovery server' }
  /** The certificate of the server in PEM form. */
  certificate?: string
  endpoints?: readonly SimulatedEndpoint[]
  /** The passwords by user name. */
  users?: Readonly<Record<string, string>>
  build?: {
    productUri?: string
    manufacturer?: string
    product?: string
    version?: string
    number?: string
    date?: string
  }
  devices?: readonly SimulatedDevice[]
  /** The servers that a discovery server lists. */
  listed?: readonly { uri: string; name: string; urls: readonly string[] }[]
}

export type SimulatedEndpoint = {
  mode: 'None' | 'Sign' | 'SignAndEncrypt'
  /** The last part of the security policy, such as `None` or `Basic256Sha256`. */
  policy: string
  users: readonly ('Anonymous' | 'UserName' | 'Certificate')[]
}

type SimulatorOptions = {
  host?: string
  port?: number
  /** The largest chunk that the server sends. Longer messages are divided. */
  chunkBytes?: number
  /** Replaces a message before it is sent, for tests of a faulty server. Nothing is sent for undefined. */
  alter?: (message: Buffer, request: string) => Buffer | undefined
}

export type Simulator = AsyncDisposable & {
  host: string
  port: number
  /** The names of all messages that the server received, in their order. */
  received: string[]
  /** The number of accepted connections. */
  connections: number
  /** The number of connections that are open. */
  open: () => number
}

const open: readonly SimulatedEndpoint[] = [{ mode: 'None', policy: 'None', users: ['Anonymous'] }]

/** Starts a simulated server. A port of 0 selects a free port. */
export async function startSimulator(server: SimulatedServer, options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', port = 0 } = options
  const sockets = new Set<Socket>()
  const received: string[] = []
  const listener: Server = createServer((socket) => {
    simulator.connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    const url = `opc.tcp://${host}:${simulator.port}`
    const connection = new Connection(socket, { server, url, received, options })
    socket.on('data', (data) => connection.feed(data))
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  listener.once('error', reject).listen(port, host, resolve)
  await promise
  const simulator: Simulator = {
    host,
    port: (listener.address() as AddressInfo).port,
    received,
    connections: 0,
    open: () => sockets.size,
    [Symbol.asyncDispose]: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((done) => listener.close(() => done()))
    },
  }
  return simulator
}

/** The requests by the numeric ids of their binary encodings, with the ids of the responses. */
const services: Readonly<Record<number, { name: string; response: number }>> = {
  422: { name: 'FindServers', response: 425 },
  428: { name: 'GetEndpoints', response: 431 },
  446: { name: 'OpenSecureChannel', response: 449 },
  452: { name: 'CloseSecureChannel', response: 455 },
  461: { name: 'CreateSession', response: 464 },
  467: { name: 'ActivateSession', response: 470 },
  473: { name: 'CloseSession', response: 476 },
  527: { name: 'Browse', response: 530 },
  533: { name: 'BrowseNext', response: 536 },
  631: { name: 'Read', response: 634 },
}

const serviceFault = 397
const statusCodes = {
  serviceUnsupported: 0x800b_0000,
  sessionIdInvalid: 0x8025_0000,
  identityRejected: 0x8021_0000,
  nodeIdUnknown: 0x8034_0000,
  continuationPointInvalid: 0x804a_0000,
  securityPolicyRejected: 0x8055_0000,
} as const

class Fault extends Error {
  readonly statusCode: number

  constructor(statusCode: number) {
    super(`status ${statusCode.toString(16)}`)
    this.statusCode = statusCode
  }
}

type ConnectionOptions = { server: SimulatedServer; url: string; received: string[]; options: SimulatorOptions }
type ReceivedRequest = { type: number; body: Decoder; handle: number; session: SimulatedNodeId }

const channelId = 7
const tokenId = 1
const authenticationToken: SimulatedNodeId = { namespace: 1, id: 2 }
const policyPrefix = 'http://opcfoundation.org/UA/SecurityPolicy#'

/** `Connection` serves one client. */
class Connection {
  readonly #socket: Socket
  readonly #options: ConnectionOptions
  readonly #space: AddressSpace
  readonly #pages = new Map<string, { node: SimulatedNodeId; from: number; most: number }>()
  #pending = Buffer.alloc(0)
  #sequence = 50
  #isSignedIn = false

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket
    this.#options = options
    const { application, build, devices } = options.server
    this.#space = new AddressSpace({ applicationUri: application?.uri ?? 'urn:simulator', build, devices })
  }

  feed(data: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, data])
    while (this.#pending.length >= 8) {
      const length = this.#pending.readUInt32LE(4)
      if (this.#pending.length < length) return
      const message = this.#pending.subarray(0, length)
      this.#pending = this.#pending.subarray(length)
      this.#onMessage(message)
    }
  }

  #onMessage(message: Buffer): void {
    const kind = message.toString('latin1', 0, 3)
    if (kind === 'HEL') {
      this.#acknowledge()
      return
    }
    const body = new Decoder(message, 12)
    if (kind === 'OPN') {
      const policy = body.text() ?? ''
      body.bytes()
      body.bytes()
      if (policy !== `${policyPrefix}None`) {
        this.#refuse(statusCodes.securityPolicyRejected)
        return
      }
    } else body.skip(4)
    body.skip(4)
    const requestId = body.uint32()
    const { id: type } = body.nodeId()
    const session = body.nodeId()
    const handle = body.skip(8).uint32()
    body.skip(4).text()
    body.skip(4).nodeId()
    body.byte()
    const name = services[Number(type)]?.name ?? `unknown ${type}`
    this.#options.received.push(name)
    if (kind === 'CLO') this.#socket.end()
    else this.#send(kind, { requestId, name, body: this.#answer(name, { type: Number(type), body, handle, session }) })
  }

  #acknowledge(): void {
    this.#options.received.push('Hello')
    const { chunkBytes = 8_192 } = this.#options.options
    const sizes = [0, 65_536, Math.max(chunkBytes, 8_192), 0, 0]
    const message = new Encoder().raw(Buffer.from('ACKF', 'latin1')).uint32(28)
    for (const size of sizes) message.uint32(size)
    this.#write(message.finish(), 'Hello')
  }

  /** Rejects a secured channel. Its request is encrypted, so it is not read. */
  #refuse(statusCode: number): void {
    this.#options.received.push('OpenSecureChannel')
    const message = new Encoder().raw(Buffer.from('ERRF', 'latin1')).uint32(16).uint32(statusCode).int32(-1)
    this.#write(message.finish(), 'OpenSecureChannel')
    this.#socket.end()
  }

  /** Returns the body of the response: the type, the response header and the fields of the service. */
  #answer(name: string, request: ReceivedRequest): Buffer {
    try {
      const fields = this.#fieldsOf(name, request)
      const type = services[request.type]?.response ?? serviceFault
      return Buffer.concat([responseHeader(type, request.handle, 0), fields.finish()])
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return responseHeader(serviceFault, request.handle, error.statusCode)
    }
  }

  #fieldsOf(name: string, request: ReceivedRequest): Encoder {
    switch (name) {
      case 'OpenSecureChannel':
        return new Encoder().uint32(0).uint32(channelId).uint32(tokenId).time(new Date()).uint32(600_000).bytes(null)
      case 'GetEndpoints':
        return this.#writeEndpoints(new Encoder())
      case 'FindServers':
        return this.#findServers()
      case 'CreateSession':
        return this.#createSession()
      case 'ActivateSession':
        return this.#activateSession(request.body)
      case 'CloseSession':
        return new Encoder()
      case 'Read':
        return this.#read(this.#signedIn(request))
      case 'Browse':
        return this.#browse(this.#signedIn(request))
      case 'BrowseNext':
        return this.#browseNext(this.#signedIn(request))
      default:
        throw new Fault(statusCodes.serviceUnsupported)
    }
  }

  #signedIn({ body, session }: ReceivedRequest): Decoder {
    if (!this.#isSignedIn || session.id !== authenticationToken.id) throw new Fault(statusCodes.sessionIdInvalid)
    return body
  }

  #findServers(): Encoder {
    const { server } = this.#options
    const response = new Encoder()
    const others = (server.listed ?? []).map(({ uri, name, urls }) => ({ uri, productUri: '', name, type: 0, urls }))
    return response.list([this.#application(), ...others], (one) => writeApplication(response, one))
  }

  #application(): SimulatedApplication {
    const { application = {} } = this.#options.server
    const { uri = 'urn:simulator', productUri = '', name = 'Simulator', type } = application
    return { uri, productUri, name, type: type === 'discovery server' ? 3 : 0, urls: [this.#options.url] }
  }

  #writeEndpoints(response: Encoder): Encoder {
    const { server, url } = this.#options
    const certificate = certificateBytes(server.certificate)
    return response.list(server.endpoints ?? open, ({ mode, policy, users }) => {
      response.text(url)
      writeApplication(response, this.#application())
      response.bytes(certificate).int32(['None', 'Sign', 'SignAndEncrypt'].indexOf(mode) + 1)
      response.text(`${policyPrefix}${policy}`)
      response.list(users, (user) =>
        response
          .text(user.toLowerCase())
          .int32(['Anonymous', 'UserName', 'Certificate'].indexOf(user))
          .text(null)
          .text(null)
          .text(null),
      )
      response.text('http://opcfoundation.org/UA-Profile/Transport/uatcp-uasc-uabinary').byte(0)
    })
  }

  #createSession(): Encoder {
    const response = new Encoder().nodeId({ namespace: 1, id: 1 }).nodeId(authenticationToken).double(60_000)
    response.bytes(Buffer.alloc(32, 1)).bytes(certificateBytes(this.#options.server.certificate))
    return this.#writeEndpoints(response).int32(0).text(null).bytes(null).uint32(0)
  }

  #activateSession(body: Decoder): Encoder {
    body.text()
    body.bytes()
    body.list(() => [body.bytes(), body.bytes()])
    body.list(() => body.text())
    const { id: type } = body.nodeId()
    body.skip(1)
    const token = new Decoder(body.bytes() ?? Buffer.alloc(0))
    token.text()
    const endpoint = (this.#options.server.endpoints ?? open).find(({ mode }) => mode === 'None')
    const isAnonymous = type === 321 && endpoint?.users.includes('Anonymous') === true
    if (!isAnonymous && !(type === 324 && this.#isUser(token.text() ?? '', token.text()))) {
      throw new Fault(statusCodes.identityRejected)
    }
    this.#isSignedIn = true
    return new Encoder().bytes(Buffer.alloc(32, 2)).int32(0).int32(0)
  }

  #isUser(name: string, password: string | null): boolean {
    const users = new Map(Object.entries(this.#options.server.users ?? {}))
    return users.has(name) && users.get(name) === password
  }

  #read(body: Decoder): Encoder {
    body.skip(8 + 4)
    const nodes = body.list(() => {
      const node = body.nodeId()
      body.skip(4).text()
      body.skip(2).text()
      return node
    })
    const response = new Encoder()
    response.list(nodes, (node) => {
      const value = this.#space.find(node)?.value
      return value === undefined ? response.badValue(statusCodes.nodeIdUnknown) : response.dataValue(value)
    })
    return response.int32(0)
  }

  #browse(body: Decoder): Encoder {
    body.nodeId()
    const most = body.skip(8 + 4).uint32()
    const nodes = body.list(() => {
      const node = body.nodeId()
      body.skip(4).nodeId()
      body.skip(1 + 4 + 4)
      return node
    })
    const response = new Encoder()
    response.list(nodes, (node) => this.#writePage(response, { node, from: 0, most }))
    return response.int32(0)
  }

  #browseNext(body: Decoder): Encoder {
    body.skip(1)
    const points = body.list(() => body.text() ?? '')
    const response = new Encoder()
    response.list(points, (point) => {
      const page = this.#pages.get(point)
      this.#pages.delete(point)
      if (page === undefined) response.uint32(statusCodes.continuationPointInvalid).bytes(null).int32(0)
      else this.#writePage(response, page)
    })
    return response.int32(0)
  }

  #writePage(response: Encoder, { node, from, most }: { node: SimulatedNodeId; from: number; most: number }): void {
    const found = this.#space.find(node)
    if (found === undefined) {
      response.uint32(statusCodes.nodeIdUnknown).bytes(null).int32(0)
      return
    }
    const to = most === 0 ? found.children.length : Math.min(from + most, found.children.length)
    const point = to < found.children.length ? `page ${this.#pages.size} ${to}` : null
    if (point !== null) this.#pages.set(point, { node, from: to, most })
    response.uint32(0).bytes(point === null ? null : Buffer.from(point))
    response.list(found.children.slice(from, to), (child) => {
      response.nodeId({ namespace: 0, id: child.value === undefined ? 47 : 46 }).byte(1)
      response.nodeId(child.id).qualifiedName(child.id.namespace, child.name).localizedText(child.name)
      response
        .int32(child.value === undefined ? 1 : 2)
        .nodeId({ namespace: 0, id: child.value === undefined ? 58 : 68 })
    })
  }

  /** Sends a message. A long message is divided into several chunks. */
  #send(kind: string, { requestId, name, body }: { requestId: number; name: string; body: Buffer }): void {
    const security =
      kind === 'OPN'
        ? new Encoder().text(`${policyPrefix}None`).bytes(null).bytes(null).finish()
        : new Encoder().uint32(tokenId).finish()
    const room = Math.max((this.#options.options.chunkBytes ?? 8_192) - 12 - security.length - 8, 1)
    for (let start = 0; start === 0 || start < body.length; start += room) {
      const part = body.subarray(start, start + room)
      const final = start + room >= body.length ? 'F' : 'C'
      const content = new Encoder()
        .raw(security)
        .uint32(this.#sequence++)
        .uint32(requestId)
        .raw(part)
        .finish()
      const header = new Encoder().raw(Buffer.from(`${kind}${final}`, 'latin1')).uint32(12 + content.length)
      this.#write(header.uint32(channelId).raw(content).finish(), name)
    }
  }

  #write(message: Buffer, request: string): void {
    const { alter = (one: Buffer) => one } = this.#options.options
    const altered = alter(message, request)
    if (altered !== undefined && !this.#socket.destroyed) this.#socket.write(altered)
  }
}

function responseHeader(type: number, handle: number, statusCode: number): Buffer {
  const header = new Encoder().nodeId({ namespace: 0, id: type }).time(new Date()).uint32(handle).uint32(statusCode)
  return header.byte(0).int32(0).nodeId({ namespace: 0, id: 0 }).byte(0).finish()
}

type SimulatedApplication = { uri: string; productUri: string; name: string; type: number; urls: readonly string[] }

function writeApplication(response: Encoder, { uri, productUri, name, type, urls }: SimulatedApplication): void {
  response.text(uri).text(productUri).localizedText(name).int32(type).text(null).text(null)
  response.list(urls, (url) => response.text(url))
}

function certificateBytes(pem: string | undefined): Buffer | null {
  if (pem === undefined) return null
  return Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
}

/** Runs a simulated server as a process: `--host 127.0.0.1 --port 4840 --file server.json`. */
async function main(): Promise<void> {
  const options = { host: { type: 'string' }, port: { type: 'string' }, file: { type: 'string' } } as const
  const { host = '127.0.0.1', port = '4840', file } = parseArgs({ options }).values
  const server: SimulatedServer = file === undefined ? {} : JSON.parse(await readFile(file, 'utf8'))
  const simulator = await startSimulator(server, { host, port: Number(port) })
  process.stdout.write(`The simulated OPC UA server listens on opc.tcp://${simulator.host}:${simulator.port}\n`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()
