import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { linuxEthernet } from './raw-ethernet.ts'

/*
 * A PROFINET device for tests and demonstrations: it answers to DCP Identify, and sends LLDP frames. It has its own encoder:
 * it shares no code with the codec of the link, so that an error of the link's encoder is noticed. It needs the right
 * CAP_NET_RAW. As a process:
 *
 *     node links/profinet/simulator.ts --interface host0 --file device.json
 *     node links/profinet/simulator.ts --file devices.json
 *
 * Without --interface, the file contains several devices by the names of their interfaces.
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
  { interfaceName }: { interfaceName: string },
): Promise<RunningSimulator> {
  const requests: string[] = []
  const socket = await linuxEthernet.open({ interfaceName, etherType: 0x8892, group: allStations })
  const { macAddress } = socket
  const reading = setInterval(() => {
    for (let frame = socket.receive(); frame !== undefined; frame = socket.receive()) {
      if (!isIdentify(frame)) continue
      requests.push(frame.toString('hex'))
      for (const answer of answersTo(device, { request: frame, macAddress })) socket.send(answer)
    }
  }, readEveryMs)
  const sendLldp = () => {
    if (device.lldp !== undefined) socket.send(lldpFrame(device.lldp, macAddress))
  }
  const announcing = setInterval(sendLldp, lldpEveryMs)
  sendLldp()
  return {
    macAddress,
    requests,
    [Symbol.asyncDispose]: async () => {
      clearInterval(reading)
      clearInterval(announcing)
      socket[Symbol.dispose]()
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

async function run(): Promise<void> {
  const { values } = parseArgs({ options: { interface: { type: 'string' }, file: { type: 'string' } } })
  const content = JSON.parse(await readFile(values.file ?? '', 'utf8'))
  const devices: Record<string, SimulatedDevice> =
    values.interface === undefined ? content : { [values.interface]: content }
  for (const [interfaceName, device] of Object.entries(devices)) {
    const { macAddress } = await startSimulator(device, { interfaceName })
    process.stdout.write(`The simulated PROFINET device answers at ${interfaceName} with ${macAddress}.\n`)
  }
  process.stdout.write('ready\n')
}

if (import.meta.main) await run()
