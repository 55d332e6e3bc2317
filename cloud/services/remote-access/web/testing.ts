import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  request as sendHttp,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import type { MessageChannel } from '@millwright/api/tunnel/channel.ts'
import { Tunnel } from '@millwright/api/tunnel/tunnel.ts'
import { WebSocket, WebSocketServer } from 'ws'
import { limits } from '../../../platform/limits.ts'
import { createLog } from '../../../platform/log.ts'
import type { Entry } from './entry-cookie.ts'
import { WebHost } from './web-host.ts'
import { WebProxy } from './web-proxy.ts'
import type { RequestLog, WebSession, WebSessions } from './web-session.ts'

type Certificate = { key: string; cert: string }

/** A real web server that acts as a device. */
export type TestDevice = { port: number; server: Server; [Symbol.asyncDispose](): Promise<void> }

export async function startDevice(
  listener: RequestListener,
  { certificate, port = 0 }: { certificate?: Certificate; port?: number } = {},
): Promise<TestDevice> {
  const server =
    certificate === undefined ? createServer(listener) : (createHttpsServer(certificate, listener) as unknown as Server)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    server,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type Received = {
  status: number
  headers: IncomingHttpHeaders
  rawHeaders: string[]
  text: string
}

export type SentRequest = {
  method?: string
  headers?: Record<string, string | string[]>
  body?: string | Buffer
  /** The header `Host`, if it is not the host of the session. */
  host?: string
}

const tenantId = randomUUID()

/** `TestSessions` stores sessions in memory. Its streams run through a tunnel to devices on this machine. */
class TestSessions implements WebSessions {
  readonly sessions = new Map<string, WebSession>()
  readonly tickets = new Map<string, string>()
  readonly entries = new Set<string>()
  readonly certificates = new Map<number, string>()
  readonly lines: string[] = []
  readonly streams = new Set<Duplex>()
  opened = 0
  reads = 0
  readonly #listeners: ((id: string) => void)[] = []
  readonly #tunnel: Tunnel

  constructor(tunnel: Tunnel) {
    this.#tunnel = tunnel
  }

  async findSession({ id }: { id: string }): Promise<WebSession | undefined> {
    this.reads += 1
    return this.sessions.get(id)
  }

  async redeemTicket(id: string, ticket: string): Promise<WebSession | undefined> {
    if (this.tickets.get(ticket) !== id) return undefined
    this.tickets.delete(ticket)
    return this.sessions.get(id)
  }

  async storeEntry({ id }: WebSession, { digest }: Entry): Promise<void> {
    this.entries.add(`${id} ${digest.toString('hex')}`)
  }

  async hasEntry(id: string, { digest }: Entry): Promise<boolean> {
    return this.entries.has(`${id} ${digest.toString('hex')}`)
  }

  async openStream({ id, address, port }: WebSession): Promise<Duplex> {
    this.opened += 1
    const stream = await this.#tunnel.open({ kind: 'tcp', sessionId: id, assetId: randomUUID(), address, port })
    this.streams.add(stream)
    stream.on('close', () => this.streams.delete(stream))
    return stream
  }

  async acceptCertificate(session: WebSession, fingerprint: string): Promise<boolean> {
    const stored = this.certificates.get(session.port) ?? fingerprint
    this.certificates.set(session.port, stored)
    if (stored === fingerprint) return true
    this.end(session.id, { ending: 'host-key-changed' })
    return false
  }

  logOf(): RequestLog {
    const line = (text: string) => this.lines.push(text) > 0
    return { recorder: { line, flush: async () => {} }, release: async () => {} }
  }

  onEnd(listener: (id: string) => void): void {
    this.#listeners.push(listener)
  }

  end(id: string, how: Pick<WebSession, 'ending' | 'endingDetail'> = { ending: 'ended-by-user' }): void {
    this.endSilently(id, how)
    for (const listener of this.#listeners) listener(id)
  }

  /** Ends a session in another process, whose signal does not arrive. */
  endSilently(id: string, how: Pick<WebSession, 'ending' | 'endingDetail'> = { ending: 'expired' }): void {
    const session = this.sessions.get(id)
    if (session !== undefined) this.sessions.set(id, { ...session, ...how, state: 'ended' })
    for (const entry of this.entries) if (entry.startsWith(id)) this.entries.delete(entry)
  }
}

/** Opens a tunnel over a WebSocket. Its gateway connects to the address of each stream without any rules. */
async function openTunnel() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  await once(server, 'listening')
  const gateway = new Tunnel({
    role: 'gateway',
    onOpen: (stream, { address, port }) => {
      const device = connect(port, address, () => {
        stream.accept()
        pipeline(stream, device, () => {})
        pipeline(device, stream, () => {})
      })
      device.on('error', ({ message }) => stream.reset({ code: 'device_unreachable', detail: message }))
      stream.on('close', () => device.destroy())
    },
  })
  const cloud = new Tunnel({ role: 'cloud' })
  server.on('connection', (socket) => cloud.attach(channelOf(socket)))
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await once(socket, 'open')
  gateway.attach(channelOf(socket))
  return {
    cloud,
    async close() {
      cloud.close('The test ends')
      gateway.close('The test ends')
      for (const client of server.clients) client.terminate()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function channelOf(socket: WebSocket): MessageChannel {
  return {
    send: (message) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(message)
    },
    get bufferedBytes() {
      return socket.bufferedAmount
    },
    close: () => socket.terminate(),
    onMessage: (listener) => void socket.on('message', (data) => listener(data as Buffer)),
    onClose: (listener) => void socket.on('close', listener),
  }
}

export type TestProxy = Awaited<ReturnType<typeof startProxy>>

/** Starts a server with the web proxy for the host `*.remote.test`. Other hosts get the text `platform`. */
export async function startProxy({ scheme = 'http' }: { scheme?: 'http' | 'https' } = {}) {
  const tunnel = await openTunnel()
  const sessions = new TestSessions(tunnel.cloud)
  const stopping = new AbortController()
  const settings = { baseUrl: `${scheme}://millwright.test`, remoteAccessHost: '*.remote.test' }
  const host = new WebHost(settings)
  const printed: string[] = []
  const log = createLog({ level: 'debug', to: { write: (line: string) => printed.push(line) } })
  const proxy = new WebProxy({ host, sessions, baseUrl: () => settings.baseUrl, log, stopping: stopping.signal })
  const isOwned = (header: string | undefined) => proxy.owns((header ?? '').toLowerCase().replace(/:\d*$/, ''))
  const server = createServer({ maxHeaderSize: limits.parserHeaderBytes }, (request, response) => {
    if (isOwned(request.headers.host)) proxy.request(request, response)
    else response.end('platform')
  })
  server.on('upgrade', (request, socket, head) => proxy.upgrade(request, socket as Socket, head))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const send = (host: string, path: string, { method = 'GET', headers = {}, body }: SentRequest = {}) =>
    new Promise<Received>((resolve, reject) => {
      const request = sendHttp({ host: '127.0.0.1', port, path, method, headers: { host, ...headers }, agent: false })
      request.on('error', reject)
      request.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            rawHeaders: response.rawHeaders,
            text: Buffer.concat(chunks).toString(),
          }),
        )
      })
      request.end(body)
    })

  const open = (device: { port: number }, service: 'http' | 'https' = 'http') => {
    const id = randomUUID()
    const target = { service, address: '127.0.0.1', port: device.port, assetName: 'Pump 7' }
    sessions.sessions.set(id, { tenantId, id, state: 'open', recording: 'all', ...target })
    const name = `${id}.remote.test`
    const ticket = () => {
      const text = createHash('sha256').update(randomUUID()).digest('base64url')
      sessions.tickets.set(text, id)
      return text
    }
    return { id, host: name, origin: `${scheme}://${name}`, ticket }
  }

  /** Opens a session and enters it. The returned function sends requests of this browser. */
  const enter = async (device: { port: number }, service: 'http' | 'https' = 'http') => {
    const session = open(device, service)
    const entered = await send(session.host, `/.millwright/enter?ticket=${session.ticket()}`)
    const cookie = entered.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const get = (path: string, { headers = {}, host = session.host, ...options }: SentRequest = {}) =>
      send(host, path, { ...options, headers: { cookie, ...headers } })
    return { ...session, entered, cookie, get }
  }

  return {
    port,
    proxy,
    sessions,
    printed,
    send,
    open,
    enter,
    /** Sends bytes as they are, and returns all bytes of the response. */
    raw: (text: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
        let received = ''
        socket.setTimeout(60_000, () => socket.destroy(new Error('No response')))
        socket.on('data', (chunk) => {
          received += chunk.toString('latin1')
        })
        socket.on('error', reject)
        socket.on('close', () => resolve(received))
      }),
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await tunnel.close()
    },
  }
}

/** Creates a self-signed certificate (RFC 5280) for a device. */
export function selfSignedCertificate(name = 'device'): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')))
  const subject = sequence(der(0x31, sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(name)))))
  const time = (text: string) => der(0x18, Buffer.from(text))
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1, ...createHash('sha256').update(randomUUID()).digest().subarray(0, 8)])),
    algorithm,
    subject,
    sequence(time('20200101000000Z'), time('21000101000000Z')),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', content, privateKey))
  const bytes = sequence(content, algorithm, signature).toString('base64')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${bytes.match(/.{1,64}/g)?.join('\n')}\n-----END CERTIFICATE-----\n`,
  }
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, ...parts)
}
