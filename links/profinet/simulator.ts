import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { linuxEthernet } from './raw-ethernet.ts'

/*
 * A PROFINET device for tests and demonstrations: it answers to DCP Identify, sends LLDP frames, and returns records. It has
 * its own encoder: it shares no code with the codecs of the link, so that an error of the link's encoder is noticed. It needs
 * the right CAP_NET_RAW. As a process:
 *
 *     node links/profinet/simulator.ts --interface host0 --file device.json
 *     node links/profinet/simulator.ts --file devices.json
 *
 * Without --interface, the file contains several devices by the names of their interfaces. The process prints each Identify
 * frame that a device receives.
 */

/** `SimulatedDevice` describes how a device answers. */
export type SimulatedDevice = {
  /** The name of station. */
  name?: string
  /** The type of station, such as `S7-1200`. */
  type?: string
  vendorId?: number
  deviceId?: number
  oem?: { vendorId: number; deviceId: number }
  /** The bits of the role: 1 device, 2 controller, 4 multidevice, 8 supervisor. */
  role?: number
  alias?: string
  ipAddress?: string
  networkMask?: string
  router?: string
  /** The block information of the IP parameters: 1 set, 2 set by DHCP, and 128 for an address conflict. */
  ipInfo?: number
  /** The complete blocks of the answer in hexadecimal digits, instead of the fields above. */
  blocks?: string
  /**
   * Frames in hexadecimal digits that are sent instead of the answer. `{to}`, `{from}` and `{xid}` are replaced with the
   * addresses and the transaction id.
   */
  frames?: string[]
  /** Whether the device answers. */
  answer?: 'silent'
  /** Whether frames have a VLAN tag with a priority. */
  isTagged?: boolean
  lldp?: SimulatedLldp
  /** The records that the device returns over RPC, at its IP address. */
  records?: SimulatedRecords
}

export type SimulatedRecords = {
  vendorId?: number
  orderNumber?: string
  serialNumber?: string
  hardwareRevision?: number
  /** The version of the firmware: a letter and three numbers, such as `V2.9.4`. */
  firmware?: string
  /** The MAC addresses of the neighbours at each port. */
  ports?: string[][]
  /** Whether the answers have the byte order of the network. */
  isBigEndian?: boolean
  /** A record in hexadecimal digits that is returned for each request, instead of the fields above. */
  record?: string
}

export type SimulatedLldp = {
  /** The chassis id as text. Without it, the chassis id is the MAC address of the device. */
  chassisName?: string
  portId?: string
  systemName?: string
  systemDescription?: string
  ipAddress?: string
  /** Whether the frame contains the PROFINET field with the MAC address of the device. */
  isProfinet?: boolean
  timeToLive?: number
  /** A complete frame in hexadecimal digits, instead of the fields above. */
  frame?: string
}

export type RunningSimulator = AsyncDisposable & {
  macAddress: string
  /** The received Identify frames in hexadecimal digits. */
  requests: string[]
}

const profinet = [0x88, 0x92]
const lldpDestination = [0x01, 0x80, 0xc2, 0, 0, 0x0e]
const allStations = '01:0e:cf:00:00:00'
const readEveryMs = 5
const lldpEveryMs = 500

/** Starts a device at a network interface. Its MAC address is that of the interface. */
export async function startSimulator(
  device: SimulatedDevice,
  { interfaceName, onRequest }: { interfaceName: string; onRequest?: (frame: Buffer) => void },
): Promise<RunningSimulator> {
  const requests: string[] = []
  const socket = await linuxEthernet.open({ interfaceName, etherType: 0x8892, group: allStations })
  const { macAddress } = socket
  const reading = setInterval(() => {
    for (let frame = socket.receive(); frame !== undefined; frame = socket.receive()) {
      if (!isIdentify(frame)) continue
      requests.push(frame.toString('hex'))
      onRequest?.(frame)
      for (const answer of answersTo(device, { request: frame, macAddress })) socket.send(answer)
    }
  }, readEveryMs)
  const sendLldp = () => {
    if (device.lldp !== undefined) socket.send(lldpFrame(device.lldp, macAddress))
  }
  const announcing = setInterval(sendLldp, lldpEveryMs)
  sendLldp()
  const host = device.ipAddress
  const server = device.records && host && (await startRecordServer(device.records, { host, port: 34_964 }))
  return {
    macAddress,
    requests,
    [Symbol.asyncDispose]: async () => {
      clearInterval(reading)
      clearInterval(announcing)
      socket[Symbol.dispose]()
      if (server) await server[Symbol.asyncDispose]()
    },
  }
}

function isIdentify(frame: Buffer): boolean {
  return frame.length >= 26 && frame.toString('hex', 12, 18) === '8892fefe0500'
}

type Identify = { request: Buffer; macAddress: string }

/** Returns the frames with which the device answers to an Identify frame. */
export function answersTo(device: SimulatedDevice, { request, macAddress }: Identify): Buffer[] {
  if (device.answer === 'silent' || !isIdentify(request) || !isSelected(device, request)) return []
  const to = [...request.subarray(6, 12)]
  const from = bytesOf(macAddress.replaceAll(':', ''))
  const xid = [...request.subarray(18, 22)]
  if (device.frames !== undefined) {
    const hex = (bytes: number[]) => Buffer.from(bytes).toString('hex')
    return device.frames.map((text) =>
      Buffer.from(
        text.replaceAll('{to}', hex(to)).replaceAll('{from}', hex(from)).replaceAll('{xid}', hex(xid)),
        'hex',
      ),
    )
  }
  const blocks = device.blocks === undefined ? blocksOf(device) : bytesOf(device.blocks)
  const tag = device.isTagged === true ? [0x81, 0x00, 0xc0, 0x00] : []
  const header = [0xfe, 0xff, 5, 1, ...xid, 0, 0, ...number16(blocks.length)]
  return [padded([...to, ...from, ...tag, ...profinet, ...header, ...blocks])]
}

/** Whether the request selects the device: with the block "all", or with its name of station. */
function isSelected({ name }: SimulatedDevice, request: Buffer): boolean {
  const [option = 0, suboption = 0, high = 0, low = 0] = request.subarray(26)
  if (option === 255 && suboption === 255) return true
  const text = request.toString('latin1', 30, 30 + high * 256 + low)
  return option === 2 && suboption === 2 && text === name
}

function blocksOf(device: SimulatedDevice): number[] {
  const { name = '', type, vendorId = 0x002a, deviceId = 1, oem, role = 1, alias, ipInfo } = device
  const address = (text = '0.0.0.0') => text.split('.').map(Number)
  const hasAddress = device.ipAddress !== undefined
  const suite = [...address(device.ipAddress), ...address(device.networkMask), ...address(device.router)]
  return [
    ...block(2, 5, [1, 2, 2, 1, 2, 2, 2, 3, 2, 4, 2, 5]),
    ...(type === undefined ? [] : block(2, 1, textBytes(type))),
    ...block(2, 2, textBytes(name)),
    ...block(2, 3, [...number16(vendorId), ...number16(deviceId)]),
    ...block(2, 4, [role, 0]),
    ...block(2, 7, [0, 100]),
    ...(oem === undefined ? [] : block(2, 8, [...number16(oem.vendorId), ...number16(oem.deviceId)])),
    ...(alias === undefined ? [] : block(2, 6, textBytes(alias))),
    ...block(1, 2, suite, ipInfo ?? (hasAddress ? 1 : 0)),
  ]
}

function block(option: number, suboption: number, value: number[], info = 0): number[] {
  const length = value.length + 2
  return [option, suboption, ...number16(length), ...number16(info), ...value, ...(length % 2 === 1 ? [0] : [])]
}

/** Returns the LLDP frame of a device. The source is the MAC address of its port. */
export function lldpFrame(lldp: SimulatedLldp, macAddress: string): Buffer {
  if (lldp.frame !== undefined) return Buffer.from(lldp.frame, 'hex')
  const mac = bytesOf(macAddress.replaceAll(':', ''))
  const { chassisName, portId = 'port-001', systemName, systemDescription, ipAddress, timeToLive = 20 } = lldp
  const field = (type: number, value: number[]) => [...number16(type * 512 + value.length), ...value]
  const chassis = chassisName === undefined ? [4, ...mac] : [7, ...textBytes(chassisName)]
  return padded([
    ...lldpDestination,
    ...mac,
    ...[0x88, 0xcc],
    ...field(1, chassis),
    ...field(2, [7, ...textBytes(portId)]),
    ...field(3, number16(timeToLive)),
    ...(systemName === undefined ? [] : field(5, textBytes(systemName))),
    ...(systemDescription === undefined ? [] : field(6, textBytes(systemDescription))),
    ...(ipAddress === undefined ? [] : field(8, [5, 1, ...ipAddress.split('.').map(Number), 2, 0, 0, 0, 1, 0])),
    ...(lldp.isProfinet === true ? field(127, [0x00, 0x0e, 0xcf, 2, 0, 0, 0, 0]) : []),
    ...(lldp.isProfinet === true ? field(127, [0x00, 0x0e, 0xcf, 5, ...mac]) : []),
    ...[0, 0],
  ])
}

function padded(bytes: number[]): Buffer {
  return Buffer.from([...bytes, ...Array<number>(Math.max(0, 60 - bytes.length)).fill(0)])
}

function number16(value: number): number[] {
  return [(value >> 8) & 255, value & 255]
}

function textBytes(text: string): number[] {
  return [...text].map((character) => character.charCodeAt(0) & 255)
}

function bytesOf(hex: string): number[] {
  return [...Buffer.from(hex, 'hex')]
}

export type RunningRecordServer = AsyncDisposable & {
  port: number
  /** The received datagrams. */
  requests: Buffer[]
}

/** Starts the RPC server of a device, which answers to Read Implicit. */
export async function startRecordServer(
  records: SimulatedRecords,
  { host, port = 0 }: { host: string; port?: number },
): Promise<RunningRecordServer> {
  const requests: Buffer[] = []
  const server = createSocket('udp4', (request, from) => {
    requests.push(request)
    const answer = recordAnswer(records, request)
    if (answer !== undefined) server.send(answer, from.port, from.address)
  })
  server.bind(port, host)
  await once(server, 'listening')
  return {
    port: server.address().port,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}

/** Returns the answer to a Read Implicit request, or undefined for other requests. */
export function recordAnswer(records: SimulatedRecords, request: Buffer): Buffer | undefined {
  if (request.length !== 164 || request[0] !== 4 || request[1] !== 0 || request.readUInt16LE(68) !== 5) return undefined
  const read = request.subarray(100)
  const [subslot, index] = [read.readUInt16BE(30), read.readUInt16BE(34)]
  const record = recordAt(records, { subslot, index })
  const status = record === undefined ? 0xde80_a000 : 0
  const content = record ?? []
  const block = [0x80, 0x09, 0, 60, 1, 0, ...read.subarray(6, 36), ...number32(content.length), ...zeros(24)]
  const body = record === undefined ? [] : [...block, ...content]
  const isBig = records.isBigEndian === true
  const ordered = (value: number) => (isBig ? number32(value) : number32(value).reverse())
  const lengths = [status, body.length, 1_088, 0, body.length].flatMap(ordered)
  const header = [...request.subarray(0, 80)]
  header[1] = 2
  header[4] = isBig ? 0 : 0x10
  const size = number16(lengths.length + body.length)
  header.splice(74, 2, ...(isBig ? size : size.reverse()))
  return Buffer.from([...(isBig ? swapped(header) : header), ...lengths, ...body])
}

/** Changes the byte order of the ids and numbers of a header. */
function swapped(header: number[]): number[] {
  const fields = [8, 24, 40].flatMap((at) => [
    [at, 4],
    [at + 4, 2],
    [at + 6, 2],
  ])
  const numbers = [
    [56, 4],
    [60, 4],
    [64, 4],
    [68, 2],
  ]
  const bytes = [...header]
  for (const [at = 0, length = 0] of [...fields, ...numbers])
    bytes.splice(at, length, ...bytes.slice(at, at + length).reverse())
  return bytes
}

function recordAt(records: SimulatedRecords, { subslot, index }: { subslot: number; index: number }) {
  if (records.record !== undefined) return bytesOf(records.record)
  if (index === 0xaff0 && subslot === 1) return nameplate(records)
  const peers = index === 0x802a ? records.ports?.[subslot - 0x8001] : undefined
  return peers === undefined ? undefined : portData(peers, subslot)
}

function nameplate(records: SimulatedRecords): number[] {
  const { vendorId = 0x002a, orderNumber = '', serialNumber = '', hardwareRevision = 1, firmware = 'V1.0.0' } = records
  const version = [firmware.charCodeAt(0), ...firmware.slice(1).split('.').map(Number)]
  return [
    ...[0, 0x20, 0, 56, 1, 0],
    ...number16(vendorId),
    ...textBytes(orderNumber.padEnd(20)),
    ...textBytes(serialNumber.padEnd(16)),
    ...number16(hardwareRevision),
    ...version,
    ...[0, 0, 0, 0, 0, 0, 1, 1, 0, 0],
  ]
}

function portData(peers: string[], subslot: number): number[] {
  const bytes = [0, 0, 0, 0, ...number16(subslot), 8, ...textBytes('port-001'), peers.length]
  const block = [2, 0x0f, 0, 0, 1, 0, ...bytes]
  const align = () => block.push(...zeros((4 - (block.length % 4)) % 4))
  align()
  for (const [position, mac] of peers.entries()) {
    block.push(8, ...textBytes('port-002'), 6 + String(position).length, ...textBytes(`switch${position}`))
    align()
    block.push(...zeros(4), ...bytesOf(mac.replaceAll(':', '')))
    align()
  }
  block.push(...[0, 0x10, 0, 0], ...zeros(8), ...[0, 1, 0, 0], ...[0, 0, 0, 1])
  block.splice(2, 2, ...number16(block.length - 4))
  return block
}

function number32(value: number): number[] {
  return [...number16(Math.floor(value / 65_536)), ...number16(value % 65_536)]
}

function zeros(count: number): number[] {
  return Array<number>(count).fill(0)
}

async function run(): Promise<void> {
  const { values } = parseArgs({ options: { interface: { type: 'string' }, file: { type: 'string' } } })
  const content = JSON.parse(await readFile(values.file ?? '', 'utf8'))
  const devices: Record<string, SimulatedDevice> =
    values.interface === undefined ? content : { [values.interface]: content }
  for (const [interfaceName, device] of Object.entries(devices)) {
    const onRequest = (frame: Buffer) => process.stdout.write(`${interfaceName} ${frame.toString('hex')}\n`)
    const { macAddress } = await startSimulator(device, { interfaceName, onRequest })
    process.stdout.write(`The simulated PROFINET device answers at ${interfaceName} with ${macAddress}.\n`)
  }
  process.stdout.write('ready\n')
}

if (import.meta.main) await run()
