import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'

/*
 * A BACnet/IP device for tests and demonstrations, which can also be a router with devices behind it, and a BBMD. It has its
 * own encoder: it shares no code with the link, so that an error of the link's encoder is noticed. As a process:
 *
 *     node links/bacnet/simulator.ts --host 127.0.0.1 --port 47808 --file device.json
 */

/** `SimulatedObject` is a device object, and how it answers. */
export type SimulatedObject = {
  instance: number
  vendorId?: number
  /** The properties by their number, such as `{ "77": "AHU 3" }`. A text after `hex:` is an encoded value in hexadecimal. */
  properties?: Record<string, string | number>
  /** How the device answers to Who-Is. By default, it answers to the sender. */
  iAm?: 'unicast' | 'broadcast' | 'silent'
  /** Whether the device knows ReadPropertyMultiple. The default is true. */
  multiple?: boolean
  /** The maximum number of bytes of an answer. The device aborts requests with longer answers. */
  answerBytes?: number
  /** Whether the device knows the instance that stands for any device. The default is true. */
  anyInstance?: boolean
}

export type SimulatedDevice = SimulatedObject & {
  /** The devices behind the router by their station, such as `"2001:0c"`: the network, and the MAC address in hexadecimal. */
  behind?: Record<string, SimulatedObject>
  /** The broadcast address of the segment, at which the device also receives requests. */
  broadcast?: string
  /** The address and port to which the device sends broadcasts. By default, the broadcast address. */
  broadcastTo?: { host: string; port: number }
  /** Whether the device is a BBMD, and the devices to which it forwards broadcasts. */
  bbmd?: { peers: { host: string; port: number }[]; refusesForeignDevices?: boolean }
}

/** Changes or replaces the datagrams with which the device answers. */
export type ChangeAnswer = (answer: Buffer, request: Buffer) => readonly Buffer[]

export type RunningSimulator = AsyncDisposable & {
  port: number
  /** The received datagrams in hexadecimal. */
  requests: string[]
  /** The foreign devices that are registered, as `address:port`, with their time to live in seconds. */
  foreignDevices: Map<string, number>
}

type Place = { host: string; port?: number; change?: ChangeAnswer }
type Sender = Pick<RemoteInfo, 'address' | 'port'>

export async function startSimulator(
  device: SimulatedDevice,
  { host, port = 0, change = (answer) => [answer] }: Place,
): Promise<RunningSimulator> {
  const main = await open(host, port)
  const bound = main.address().port
  const shared = device.broadcast === undefined ? undefined : await open(device.broadcast, bound)
  const requests: string[] = []
  const foreignDevices = new Map<string, number>()
  const send: Send = (bytes, to, request) => {
    for (const datagram of change(Buffer.from(bytes), request)) main.send(datagram, to.port, to.address)
  }
  const receive = (message: Buffer, sender: Sender) => {
    if (sender.address === host && sender.port === bound) return
    requests.push(message.toString('hex'))
    handle(message, sender, { device, bound, foreignDevices, send })
  }
  main.on('message', receive)
  shared?.on('message', receive)
  return {
    port: bound,
    requests,
    foreignDevices,
    [Symbol.asyncDispose]: async () => {
      for (const socket of [main, shared]) {
        socket?.close()
        if (socket !== undefined) await once(socket, 'close')
      }
    },
  }
}

async function open(host: string, port: number): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  socket.on('error', () => undefined)
  socket.bind(port, host)
  await once(socket, 'listening')
  socket.setBroadcast(true)
  return socket
}

type Send = (bytes: readonly number[], to: Sender, request: Buffer) => void
type Context = { device: SimulatedDevice; bound: number; foreignDevices: Map<string, number>; send: Send }

const two = (number: number) => [(number >> 8) & 255, number & 255]
const four = (number: number) => [...two(Math.floor(number / 65_536)), ...two(number % 65_536)]
const link = (code: number, content: readonly number[]) => [0x81, code, ...two(content.length + 4), ...content]

/** Handles the virtual link layer. */
function handle(message: Buffer, sender: Sender, context: Context): void {
  const [type, code = -1] = message
  if (type !== 0x81 || message.length < 4) return
  const { device, foreignDevices, send } = context
  const result = (number: number) => send(link(0, two(number)), sender, message)
  const key = `${sender.address}:${sender.port}`
  const content = [...message.subarray(4)]
  const handling = { ...context, request: message }
  if (code === 0x05) {
    const isAccepted = device.bbmd !== undefined && device.bbmd.refusesForeignDevices !== true
    if (isAccepted) foreignDevices.set(key, message.readUInt16BE(4))
    result(isAccepted ? 0 : 0x30)
  } else if (code === 0x08) {
    const entry = `${content.slice(0, 4).join('.')}:${message.readUInt16BE(8)}`
    result(foreignDevices.delete(entry) ? 0 : 0x50)
  } else if (code === 0x09 && !foreignDevices.has(key)) {
    result(0x60)
  } else if (code === 0x09 || code === 0x0b) {
    forward(content, sender, handling)
    answer(content, sender, handling)
  } else if (code === 0x0a) {
    answer(content, sender, handling)
  } else if (code === 0x04) {
    const origin = { address: content.slice(0, 4).join('.'), port: message.readUInt16BE(8) }
    answer(content.slice(6), origin, handling)
  }
}

type Handling = Context & { request: Buffer }

/** A BBMD forwards a broadcast to its peers and to the foreign devices, but not back to the sender. */
function forward(npdu: readonly number[], sender: Sender, { device, foreignDevices, send, request }: Handling): void {
  if (device.bbmd === undefined) return
  const origin = [...sender.address.split('.').map(Number), ...two(sender.port)]
  const peers = device.bbmd.peers.map(({ host, port }) => `${host}:${port}`)
  for (const to of new Set([...peers, ...foreignDevices.keys()])) {
    const [address = '', port] = to.split(':')
    const isSender = address === sender.address && Number(port) === sender.port
    if (!isSender) send(link(0x04, [...origin, ...npdu]), { address, port: Number(port) }, request)
  }
}

/** Handles the network layer: requests to the device itself, and to the devices behind it. */
function answer(npdu: readonly number[], sender: Sender, handling: Handling): void {
  const [version, flags = 0, ...rest] = npdu
  if (version !== 1 || flags & 0x80) return
  const isRouted = (flags & 0x20) !== 0
  const [high = 0, low = 0, length = 0] = rest
  const network = high * 256 + low
  const mac = rest.slice(3, 3 + length)
  const apdu = isRouted ? rest.slice(4 + length) : rest
  const { device } = handling
  const isForAll = network === 0xffff
  if (!isRouted || isForAll) reply(device, apdu, { ...handling, sender, source: [] })
  if (!isRouted) return
  const behind = Object.entries(device.behind ?? {}).filter(([station]) => {
    const isAddressed = station === `${network}:${Buffer.from(mac).toString('hex')}`
    return isForAll || isAddressed
  })
  const isKnown = isForAll || Object.keys(device.behind ?? {}).some((station) => station.startsWith(`${network}:`))
  if (!isKnown) handling.send(link(0x0a, [1, 0x80, 3, 1, high, low]), sender, handling.request)
  for (const [station, object] of behind) {
    const [number, hex = ''] = station.split(':')
    const bytes = [...Buffer.from(hex, 'hex')]
    reply(object, apdu, { ...handling, sender, source: [...two(Number(number)), bytes.length, ...bytes] })
  }
}

type Reply = Handling & { sender: Sender; source: readonly number[] }

/** Handles the application layer of one device. */
function reply(object: SimulatedObject, apdu: readonly number[], handling: Reply): void {
  const { send, sender, source, request } = handling
  const npdu = source.length === 0 ? [1, 0] : [1, 0x08, ...source]
  const [first = 0, second, third = 0, fourth] = apdu
  if (first === 0x10 && second === 8) {
    if (isAddressed(object.instance, apdu.slice(2))) announce(object, npdu, handling)
  } else if (first >> 4 === 0 && fourth !== undefined) {
    const content = confirmed(object, { invokeId: third, service: fourth, parameters: apdu.slice(4) })
    const isTooLong = content.length > (object.answerBytes ?? 1_476)
    send(link(0x0a, [...npdu, ...(isTooLong ? [0x71, third, 4] : content)]), sender, request)
  }
}

/** Answers to Who-Is. */
function announce({ instance, vendorId = 0, iAm }: SimulatedObject, npdu: readonly number[], handling: Reply): void {
  const { device, bound, send, sender, request } = handling
  const content = [...npdu, 0x10, 0, 0xc4, ...objectId(instance), 0x22, 0x05, 0xc4, 0x91, 3, ...unsigned(vendorId)]
  const { broadcastTo: to = { host: device.broadcast ?? '', port: bound } } = device
  if (iAm === 'broadcast' && to.host !== '') send(link(0x0b, content), { address: to.host, port: to.port }, request)
  else if (iAm !== 'broadcast' && iAm !== 'silent') send(link(0x0a, content), sender, request)
}

type Confirmed = { invokeId: number; service: number; parameters: readonly number[] }

/** Answers to ReadProperty (12) and ReadPropertyMultiple (14). */
function confirmed(object: SimulatedObject, { invokeId, service, parameters }: Confirmed): number[] {
  const isMultiple = service === 14 && object.multiple !== false
  if (service !== 12 && !isMultiple) return [0x60, invokeId, 9]
  const error = (errorClass: number, code: number) => [0x91, errorClass, 0x91, code]
  const instance = ((parameters[2] ?? 0) % 64) * 65_536 + (parameters[3] ?? 0) * 256 + (parameters[4] ?? 0)
  const isAny = instance === 4_194_303 && object.anyInstance !== false
  if (instance !== object.instance && !isAny) return [0x50, invokeId, service, ...error(1, 31)]
  const id = objectId(object.instance)
  const references = numbersIn(parameters.slice(isMultiple ? 6 : 5))
  if (service === 12) {
    const value = encodedValue(object, references[0] ?? 0)
    if (value === undefined) return [0x50, invokeId, 12, ...error(2, 32)]
    return [0x30, invokeId, 12, 0x0c, ...id, ...contextNumber(1, references[0] ?? 0), 0x3e, ...value, 0x3f]
  }
  const results = references.flatMap((number) => {
    const value = encodedValue(object, number)
    const result = value === undefined ? [0x5e, ...error(2, 32), 0x5f] : [0x4e, ...value, 0x4f]
    return [...contextNumber(2, number), ...result]
  })
  return [0x30, invokeId, 14, 0x0c, ...id, 0x1e, ...results, 0x1f]
}

/** Reads the numbers of context-tagged values. Opening and closing tags end the list. */
function numbersIn(bytes: readonly number[]): number[] {
  const numbers: number[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = (bytes[at] ?? 0) % 8
    if (length > 4) break
    numbers.push(bytes.slice(at + 1, at + 1 + length).reduce((sum, byte) => sum * 256 + byte, 0))
    at += 1 + length
  }
  return numbers
}

function isAddressed(instance: number, limits: readonly number[]): boolean {
  const [low = 0, high = 4_194_303] = numbersIn(limits)
  return instance >= low && instance <= high
}

function objectId(instance: number): number[] {
  return four(8 * 4_194_304 + instance)
}

function contextNumber(tag: number, number: number): number[] {
  const bytes = number > 255 ? two(number) : [number]
  return [tag * 16 + 8 + bytes.length, ...bytes]
}

function unsigned(number: number): number[] {
  return number > 65_535 ? [0x24, ...four(number)] : [0x22, ...two(number)]
}

function encodedValue(
  { instance, vendorId = 0, properties = {} }: SimulatedObject,
  number: number,
): number[] | undefined {
  const value = properties[number] ?? (number === 120 ? vendorId : undefined)
  if (number === 75 && value === undefined) return [0xc4, ...objectId(instance)]
  if (value === undefined) return undefined
  if (typeof value === 'number') return number === 112 || number === 107 ? [0x91, value] : unsigned(value)
  if (value.startsWith('hex:')) return [...Buffer.from(value.slice(4), 'hex')]
  const text = [0, ...Buffer.from(value, 'utf8')]
  if (text.length < 5) return [0x70 + text.length, ...text]
  return text.length < 254 ? [0x75, text.length, ...text] : [0x75, 254, ...two(text.length), ...text]
}

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: { host: { type: 'string' }, port: { type: 'string' }, file: { type: 'string' } },
  })
  const host = values.host ?? '127.0.0.1'
  const device: SimulatedDevice = JSON.parse(await readFile(values.file ?? '', 'utf8'))
  const { port } = await startSimulator(device, { host, port: Number(values.port ?? 47_808) })
  process.stdout.write(`The simulated BACnet device listens on ${host}:${port}.\n`)
}

if (import.meta.main) await run()
