import { once } from 'node:events'
import { get } from 'node:http'
import {
  gatewayTunnelProtocol,
  type RemoteSession,
  remoteAccess,
  type SessionRequest,
  tunnelProtocol,
} from '@millwright/api/remote-access.ts'
import { growingPause } from '@millwright/api/test-effort.ts'
import type { MessageChannel } from '@millwright/api/tunnel/channel.ts'
import type { StreamHeader, StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import { Tunnel } from '@millwright/api/tunnel/tunnel.ts'
import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'
import { WebSocket } from 'ws'
import { addAddress, enrolledGateway, proofFor, type TestGateway } from '../../platform/testing/gateway.ts'
import type { RequestTarget, TestCaller, TestHub } from '../../platform/testing/hub.ts'
import { findTunnel } from './tunnel-store.ts'

/** The test kit of remote access: gateways with real tunnels over real WebSockets, and clients of streams. */

/** Returns a WebSocket as the channel of a tunnel. */
function channelOf(socket: WebSocket): MessageChannel {
  return {
    send: (message) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(message)
    },
    get bufferedBytes() {
      return socket.bufferedAmount
    },
    close: (reason) => socket.close(1000, reason.slice(0, 100)),
    onMessage: (listener) => {
      socket.on('message', (data) => listener(data as Buffer))
    },
    onClose: (listener) => {
      socket.on('close', () => listener())
    },
  }
}

export type OnOpen = (stream: TunnelStream, header: StreamHeader) => void

/** Accepts checks, and echoes the bytes of all other streams. */
export const echo: OnOpen = (stream, header) => {
  stream.accept()
  echoBytes(stream, header)
}

function echoBytes(stream: TunnelStream, header: StreamHeader): void {
  if (header.kind === 'check') stream.end()
  else stream.pipe(stream)
}

/** Accepts checks. A terminal shows its host key, sends the output after the decision, and echoes its input. */
export function terminalWith(output: string, fingerprint = `SHA256:${'a'.repeat(43)}`): OnOpen {
  return (stream, header) => {
    stream.accept()
    if (header.kind !== 'terminal') {
      echoBytes(stream, header)
      return
    }
    stream.sendMessage({ type: 'host-key', algorithm: 'ssh-ed25519', fingerprint })
    stream.on('message', (message: StreamMessage) => {
      if (message.type === 'host-key-decision' && message.isAccepted === true) {
        stream.sendMessage({ type: 'signed-in', user: 'operator' })
        stream.write(output)
        stream.pipe(stream)
      }
    })
  }
}

export type ConnectedGateway = {
  tunnel: Tunnel
  /** The headers of all streams that the cloud opened. */
  headers: StreamHeader[]
  socket: WebSocket
  /** Opens a further channel of the same tunnel, as a gateway does after the loss of a channel. */
  resume(url?: string): Promise<WebSocket>
  [Symbol.asyncDispose](): Promise<void>
}

async function openTunnelSocket(hub: RequestTarget, gateway: TestGateway, url: string): Promise<WebSocket> {
  const path = `${remoteAccess.prefix}/gateway-tunnel`
  const dpop = await proofFor(hub, { method: 'GET', path, token: gateway.token, key: gateway.key })
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, gatewayTunnelProtocol, {
    headers: { authorization: `Bearer ${gateway.token}`, dpop },
  })
  await once(socket, 'open')
  return socket
}

/** Creates the tunnel of a gateway. `attach` opens a channel at an address. `headers` are those of all streams. */
export function gatewayTunnel(target: RequestTarget, gateway: TestGateway, onOpen: OnOpen = echo) {
  const headers: StreamHeader[] = []
  const tunnel = new Tunnel({
    role: 'gateway',
    onOpen(stream, header) {
      headers.push(header)
      onOpen(stream, header)
    },
  })
  const attach = async (url: string) => {
    const socket = await openTunnelSocket(target, gateway, url)
    tunnel.attach(channelOf(socket))
    return socket
  }
  return { tunnel, headers, attach }
}

/**
 * Connects a gateway with a real tunnel. Resolves when the platform shows it as connected and has stored this tunnel, not only
 * a former one.
 */
export async function connectGateway(
  hub: TestHub,
  gateway: TestGateway,
  { onOpen, url }: { onOpen?: OnOpen; url?: string } = {},
): Promise<ConnectedGateway> {
  const base = url ?? (await hub.listen())
  const { tunnel, headers, attach } = gatewayTunnel(hub, gateway, onOpen)
  const startedAt = new Date().toISOString()
  const socket = await attach(base)
  const admin = await hub.as('administrator')
  await until(async () => {
    const stored = await hub.context.database.read(hub.tenant, (handle) => findTunnel(handle, gateway.id))
    const { data } = await admin['remote-access'].listGateways({ query: { limit: 100 } })
    const isStored = stored !== undefined && stored.connectedAt >= startedAt
    return isStored && data.some(({ gatewayId, isConnected }) => gatewayId === gateway.id && isConnected)
  })
  return {
    tunnel,
    headers,
    socket,
    resume: (at = base) => attach(at),
    async [Symbol.asyncDispose]() {
      tunnel.close('The test has ended')
      await until(async () => {
        const { data } = await admin['remote-access'].listGateways({ query: { limit: 100 } })
        return !data.some(({ gatewayId, isConnected }) => gatewayId === gateway.id && isConnected)
      })
    },
  }
}

/** Waits until a condition holds. */
export async function until(condition: () => boolean | Promise<boolean>, ms = 120_000): Promise<void> {
  const deadline = performance.now() + ms
  const pause = growingPause()
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`The condition does not hold after ${ms} ms: ${condition}`)
    await pause()
  }
}

export type Plant = { admin: TestCaller; gateway: TestGateway; assetId: string; groupId: string; address: string }

let nextAddress = 1

/** Creates a gateway and an asset in a new access group. The gateway found the asset at its address. */
export async function createPlant(hub: TestHub, admin?: TestCaller): Promise<Plant> {
  const manager = admin ?? (await hub.as('administrator'))
  const index = nextAddress++
  const name = `line-${index}-${Date.now()}`
  const { data: group } = await manager.authorization.createAccessGroup({ body: { data: { name } } })
  const gateway = await enrolledGateway(hub, manager, { name, access_group: group.id })
  const address = `10.20.${index >> 8}.${index & 255}`
  const assetId = await createAsset(manager, { name: `Drive ${index}`, group: group.id, address })
  await addAddress(hub, { assetId, gatewayId: gateway.id, address })
  return { admin: manager, gateway, assetId, groupId: group.id, address }
}

/** Creates an asset with an address in its connection points. */
export async function createAsset(
  admin: TestCaller,
  { name, group, address }: { name: string; group: string; address: string },
): Promise<string> {
  const asset = {
    functional_object_type: 'Device',
    name,
    access_group: group,
    asset_identifiers: [
      { asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `${name.replaceAll(' ', '-')}-${address}` },
    ],
    connection_points: [
      address.includes(':')
        ? { connection_point_type: 'Ipv6Connectivity', ipv6_address: address }
        : { connection_point_type: 'Ipv4Connectivity', ipv4_address: address },
    ],
  }
  const { data } = await admin.inventory.createAsset({ body: { data: { asset } } })
  const { data: status } = await admin.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
  const { assetId } = status.detail.result as { assetId: string }
  return assetId
}

/** Opens or requests a session. */
export async function createSession(
  caller: TestCaller,
  request: Pick<SessionRequest, 'assetId'> & Partial<SessionRequest>,
): Promise<RemoteSession> {
  return (await caller['remote-access'].createSession({ body: { data: { service: 'ssh', ...request } } })).data
}

export async function readSession(caller: TestCaller, id: string): Promise<RemoteSession> {
  return (await caller['remote-access'].readSession({ params: { id } })).data
}

export type StreamOptions = {
  url: string
  token?: string
  headers?: Record<string, string>
  query?: Record<string, string>
}

/** `StreamClient` is the WebSocket of a client: bytes and messages of one stream. */
export class StreamClient {
  readonly socket: WebSocket
  readonly messages: StreamMessage[] = []
  readonly chunks: Buffer[] = []
  closed: { code: number; reason: string } | undefined

  constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data, isBinary) => {
      if (isBinary) this.chunks.push(data as Buffer)
      else this.messages.push(JSON.parse(String(data)) as StreamMessage)
    })
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) }
    })
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks)
  }

  send(message: StreamMessage | Uint8Array | string): void {
    if (typeof message === 'string') this.socket.send(Buffer.from(message))
    else this.socket.send(message instanceof Uint8Array ? message : JSON.stringify(message))
  }

  async end(): Promise<{ code: number; reason: string }> {
    await until(() => this.closed !== undefined)
    return this.closed as { code: number; reason: string }
  }

  [Symbol.dispose](): void {
    this.socket.terminate()
  }
}

/** Opens a stream of a session. Throws the problem document if the request is refused. */
export async function openStream(id: string, options: StreamOptions): Promise<StreamClient> {
  const query = new URLSearchParams(options.query)
  const path = `${remoteAccess.prefix}/sessions/${id}/stream?${query}`
  const socket = new WebSocket(`${options.url.replace('http', 'ws')}${path}`, tunnelProtocol, {
    headers: {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
  })
  const client = new StreamClient(socket)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.on('open', () => resolve())
  socket.on('error', reject)
  socket.on('unexpected-response', (_request, response) => {
    let text = ''
    response.on('data', (chunk) => {
      text += chunk
    })
    response.on('end', () => {
      socket.terminate()
      reject(Object.assign(new Error(text), JSON.parse(text)))
    })
  })
  await promise
  return client
}

/** Enters a web session with a ticket, as a browser does. Returns the cookie. */
export async function enterWebSession(hub: TestHub, caller: TestCaller, id: string): Promise<string> {
  const { data } = await caller['remote-access'].createTicket({ params: { id } })
  const host = hub.context.settings.remoteAccessHost?.replace('*', id) ?? ''
  const { port } = new URL(await hub.listen())
  const path = `/.millwright/enter?ticket=${data.ticket}`
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  get({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
    response.resume()
    const [cookie = ''] = response.headers['set-cookie'] ?? []
    if (cookie === '') reject(new Error(`The session was not entered: ${response.statusCode}`))
    else resolve(cookie.split(';', 1)[0] ?? '')
  }).on('error', reject)
  return promise
}
