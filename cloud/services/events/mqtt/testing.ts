import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { duplexPair } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import type { CertificateWithKey } from '@millwright/api/certificates.ts'
import type { CloudEvent } from '@millwright/api/events.ts'
import { Aedes } from 'aedes'
import { connectAsync, type IPublishPacket, type MqttClient } from 'mqtt'
import { generate, type IConnackPacket, type Packet, parser } from 'mqtt-packet'
import { v7 as uuid } from 'uuid'
import { Outbound } from '../../../platform/outbound.ts'
import type { Message, Outcome } from '../delivery/channel.ts'
import { MqttChannel, type MqttChannelOptions } from './channel.ts'

/**
 * Brokers for tests. Debian's mosquitto is a broker with MQTT 5; the tests skip it when it is not installed. Aedes is an
 * npm broker with MQTT 3.1.1; a translator in front of it speaks MQTT 5.
 */

export type BrokerOptions = {
  /** A fixed port, to start a broker again. */
  port?: number
  /** The certificate of the broker. The broker then accepts only TLS. */
  tls?: CertificateWithKey
  /** The only user that may connect. */
  user?: { name: string; password: string }
  /** A topic to which the user may not publish. */
  deniedTopic?: string
  /** What the broker announces in its response to a connection. */
  receiveMaximum?: number
  maximumPacketSize?: number
}

export type TestBroker = {
  readonly port: number
  /** Opens a connection that receives messages. It uses no TLS and no password. */
  subscribe(topic: string): Promise<Subscriber>
  /** Ends the broker without closing its connections in order. */
  kill(): Promise<void>
}

export type Received = { topic: string; payload: string; retain: boolean; packet: IPublishPacket }

/** `Subscriber` collects the messages of a topic. */
export class Subscriber {
  readonly messages: Received[] = []
  readonly #client: MqttClient

  private constructor(client: MqttClient) {
    this.#client = client
    client.on('message', (topic, payload, packet) => {
      this.messages.push({ topic, payload: payload.toString(), retain: packet.retain, packet })
    })
  }

  static async open(port: number, topic: string, protocolVersion: 4 | 5): Promise<Subscriber> {
    const options = { protocolVersion, reconnectPeriod: 0, username: 'reader', password: 'reader' }
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, options)
    const subscriber = new Subscriber(client)
    await client.subscribeAsync(topic, { qos: 1 })
    return subscriber
  }

  get payloads(): string[] {
    return this.messages.map(({ payload }) => payload)
  }

  async close(): Promise<void> {
    await this.#client.endAsync(true)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

export type BrokerKind = {
  name: string
  /** Why the tests of this broker are skipped. */
  skip: string | false
  /** Whether subscribers receive the properties of MQTT 5. */
  hasProperties: boolean
  start(options?: BrokerOptions): Promise<TestBroker & AsyncDisposable>
}

const mosquittoFile = ['/usr/sbin/mosquitto', '/usr/bin/mosquitto', '/usr/local/sbin/mosquitto'].find(existsSync)

export const brokerKinds: readonly BrokerKind[] = [
  {
    name: 'mosquitto',
    skip: mosquittoFile === undefined && 'mosquitto is not installed (apt-get install mosquitto)',
    hasProperties: true,
    start: startMosquitto,
  },
  { name: 'aedes', skip: false, hasProperties: false, start: startAedes },
]

async function startMosquitto(options: BrokerOptions = {}): Promise<TestBroker & AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), 'millwright-mosquitto-'))
  const port = options.port ?? (await freePort())
  const readerPort = await freePort()
  writeFileSync(join(folder, 'mosquitto.conf'), mosquittoConfiguration(folder, { ...options, port }, readerPort))
  const child = spawn(mosquittoFile ?? '', ['-c', join(folder, 'mosquitto.conf')], { stdio: 'ignore' })
  await Promise.all([untilOpen(port, child), untilOpen(readerPort, child)])
  const kill = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  }
  return {
    port,
    subscribe: (topic) => Subscriber.open(readerPort, topic, 5),
    kill,
    [Symbol.asyncDispose]: kill,
  }
}

function mosquittoConfiguration(folder: string, options: BrokerOptions & { port: number }, readerPort: number): string {
  const { port, tls, user, deniedTopic, receiveMaximum, maximumPacketSize } = options
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const lines = ['per_listener_settings true', 'user root', 'log_type none']
  if (receiveMaximum !== undefined) lines.push(`max_inflight_messages ${receiveMaximum}`)
  if (maximumPacketSize !== undefined) lines.push(`max_packet_size ${maximumPacketSize}`)
  lines.push(`listener ${port} 127.0.0.1`)
  if (tls !== undefined)
    lines.push(`certfile ${file('cert.pem', tls.certificate)}`, `keyfile ${file('key.pem', tls.key)}`)
  if (user === undefined) lines.push('allow_anonymous true')
  else {
    const passwords = file('passwords', `${user.name}:${user.password}\n`)
    execFileSync('mosquitto_passwd', ['-U', passwords], { stdio: 'ignore' })
    lines.push('allow_anonymous false', `password_file ${passwords}`)
  }
  if (deniedTopic !== undefined)
    lines.push(`acl_file ${file('acl', `pattern readwrite #\npattern deny ${deniedTopic}\n`)}`)
  lines.push(`listener ${readerPort} 127.0.0.1`, 'allow_anonymous true', '')
  return lines.join('\n')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function untilOpen(port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`mosquitto ended with code ${child.exitCode}`)
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    } finally {
      socket.destroy()
    }
  }
}

async function startAedes(options: BrokerOptions = {}): Promise<TestBroker & AsyncDisposable> {
  const { port = 0, tls, user } = options
  const aedes = await Aedes.createBroker({
    authenticate(_client, name, password, done) {
      const isReader = name === 'reader'
      const isUser = user === undefined || (name === user.name && String(password) === user.password)
      if (isReader || isUser) done(null, true)
      else done(Object.assign(new Error('refused'), { returnCode: 4 as const }), false)
    },
  })
  const sockets = new Set<Socket>()
  const track = (socket: Socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.on('close', () => sockets.delete(socket))
  }
  const translated = (socket: Socket) => {
    track(socket)
    translate(socket, aedes, options)
  }
  const server =
    tls === undefined ? createServer(translated) : createTlsServer({ cert: tls.certificate, key: tls.key }, translated)
  const readers = createServer((socket) => {
    track(socket)
    aedes.handle(socket)
  })
  const ports = [await listen(server, port), await listen(readers, 0)] as const
  const kill = async () => {
    for (const socket of sockets) socket.destroy()
    await Promise.all([server, readers].map((one) => new Promise((resolve) => one.close(resolve))))
    await new Promise<void>((resolve) => aedes.close(() => resolve()))
  }
  return {
    port: ports[0],
    subscribe: (topic) => Subscriber.open(ports[1], topic, 4),
    kill,
    [Symbol.asyncDispose]: kill,
  }
}

/** `FakeBroker` is a server whose responses a test chooses. */
export class FakeBroker {
  /** The packets that the broker received. */
  readonly packets: Packet[] = []
  readonly sockets: Socket[] = []
  readonly #server: Server
  #port = 0

  private constructor(onConnection: (socket: Socket) => void, onPacket: (packet: Packet, socket: Socket) => void) {
    this.#server = createServer((socket) => {
      this.sockets.push(socket.on('error', () => {}))
      const received = parser({ protocolVersion: 5 })
      received.on('packet', (packet) => {
        this.packets.push(packet)
        onPacket(packet, socket)
      })
      received.on('error', () => socket.destroy())
      socket.on('data', (chunk) => received.parse(chunk))
      onConnection(socket)
    })
  }

  /** Starts a broker that calls a function for each connection, and one for each packet. */
  static async start({
    onConnection = () => {},
    onPacket = () => {},
  }: {
    onConnection?: (socket: Socket) => void
    onPacket?: (packet: Packet, socket: Socket) => void
  }): Promise<FakeBroker> {
    const broker = new FakeBroker(onConnection, onPacket)
    broker.#port = await listen(broker.#server)
    return broker
  }

  get port(): number {
    return this.#port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

export async function listen(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Translates a connection of MQTT 5 to MQTT 3.1.1. It refuses the denied topic, because MQTT 3.1.1 has no such response. */
function translate(socket: Socket, aedes: Aedes, options: BrokerOptions): void {
  const [near, far] = duplexPair()
  aedes.handle(far)
  const fromClient = parser({ protocolVersion: 5 })
  const fromBroker = parser({ protocolVersion: 4 })
  const answer = (packet: Packet) => socket.write(generate(packet, { protocolVersion: 5 }))
  fromClient.on('packet', (packet) => {
    if (packet.cmd === 'publish' && packet.topic === options.deniedTopic)
      answer({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 135 })
    else near.write(generate(olderPacket(packet), { protocolVersion: 4 }))
  })
  fromBroker.on('packet', (packet) => answer(packet.cmd === 'connack' ? newerConnack(packet, options) : packet))
  socket.on('data', (chunk) => fromClient.parse(chunk))
  near.on('data', (chunk) => fromBroker.parse(chunk))
  socket.on('close', () => near.destroy())
  fromClient.on('error', () => socket.destroy())
  for (const end of [near, far]) end.on('error', () => {}).on('close', () => socket.destroy())
}

function olderPacket(packet: Packet): Packet {
  const { properties, ...older } = packet as Packet & { properties?: unknown }
  return older.cmd === 'connect' ? { ...older, protocolVersion: 4 } : older
}

const reasonCodes: Readonly<Record<number, number>> = { 0: 0, 2: 133, 3: 136, 4: 134, 5: 135 }

function newerConnack({ returnCode = 0 }: IConnackPacket, options: BrokerOptions): Packet {
  const { receiveMaximum, maximumPacketSize } = options
  return {
    cmd: 'connack',
    sessionPresent: false,
    reasonCode: reasonCodes[returnCode] ?? 128,
    properties: {
      ...(receiveMaximum === undefined ? {} : { receiveMaximum }),
      ...(maximumPacketSize === undefined ? {} : { maximumPacketSize }),
    },
  }
}

/** Creates a message with one event. */
export function message(
  subject: string,
  data: Record<string, unknown> = {},
  type = 'inventory.asset.updated',
): Message {
  const event: CloudEvent = {
    specversion: '1.0',
    id: uuid(),
    source: '/tenants/plant',
    type: `io.millwright.${type}`,
    subject,
    time: '2026-01-31T12:00:00.000Z',
    datacontenttype: 'application/json',
    sequence: '0000000000000001',
    data,
  }
  return { id: event.id, events: [event], body: JSON.stringify(event) }
}

export type TestChannel = MqttChannel & AsyncDisposable & { sockets: Socket[] }

/** Opens a channel whose sockets a test can destroy. */
export function openChannel(
  { port }: Pick<TestBroker, 'port'>,
  options: Partial<MqttChannelOptions> = {},
): TestChannel {
  const outbound = new Outbound({ allow: ['127.0.0.1', 'localhost'] })
  const sockets: Socket[] = []
  const channel = new MqttChannel({
    outbound: {
      async connectBroker(url, details) {
        const socket = await outbound.connectBroker(url, details)
        sockets.push(socket)
        return socket
      },
    },
    url: `mqtt://127.0.0.1:${port}`,
    certificateAuthority: null,
    clientId: `millwright-${uuid()}`,
    userName: null,
    password: null,
    topic: 'millwright/{tenant}/{kind}/{id}',
    retain: false,
    statusTopic: null,
    tenantName: 'plant',
    reconnectMs: 20,
    ...options,
  })
  return Object.assign(channel, { sockets, [Symbol.asyncDispose]: () => channel.close() })
}

/** Returns the error of an attempt. */
export function errorOf({ isDelivered, attempt }: Outcome): string | null {
  assert.equal(isDelivered, attempt.error === null)
  return attempt.error
}
