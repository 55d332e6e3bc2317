import { readdir } from 'node:fs/promises'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'

/*
 * This file sends and receives Ethernet frames. PROFINET DCP and LLDP have no IP header, and Node.js has no sockets for such
 * frames. So the file calls the C library with koffi, and opens packet sockets (AF_PACKET) of Linux. They need the right
 * CAP_NET_RAW.
 *
 * All calls return immediately. A receiver reads the frames that have arrived every few milliseconds, so there is no thread
 * that a canceled scan waits for. A filter in the kernel drops all frames that the link does not need, such as the cyclic
 * data of PROFINET.
 */

/** `EthernetSocket` sends and receives the frames of one EtherType at one network interface. */
export type EthernetSocket = Disposable & {
  /** The MAC address of the interface, such as `02:00:5E:00:00:10`. */
  macAddress: string
  /** Sends a complete frame, from the destination address on. */
  send: (frame: Buffer) => void
  /** Returns the next frame that has arrived, or undefined if there is none. */
  receive: () => Buffer | undefined
}

export type SocketOptions = {
  /** The name of the network interface, such as `eth0`. */
  interfaceName: string
  etherType: number
  /** A multicast group to receive frames of. */
  group?: string
  /** The only value of the two bytes after the EtherType with which frames are received. */
  frameId?: number
}

/** `Ethernet` is the access of a link to Ethernet. Tests replace it with a simulated segment. */
export type Ethernet = {
  /** Returns why frames cannot be sent on this machine, and what to do, or undefined if they can. */
  problem: () => Promise<string | undefined>
  /** Opens a socket. Throws a `LinkError` that names the interface. */
  open: (options: SocketOptions) => Promise<EthernetSocket>
  /** Returns the interfaces that receive LLDP frames for an interface: the ports of a bridge, or the interface itself. */
  portsOf: (interfaceName: string) => Promise<readonly string[]>
}

/** The numbers of Linux. They are the same on all processors for which koffi has a library. */
const addressFamily = 17
const rawSocket = 3
const closeOnExec = 0o2000000
const nonBlocking = 0o4000
const socketLevel = 1
const receiveBuffer = 8
const attachFilter = 26
const packetLevel = 263
const addMembership = 1
const multicastMembership = 0
const ethernetType = 1
const addressBytes = { link: 20, membership: 16 } as const

/** The error numbers of Linux that have their own text. */
const errors = { notPermitted: 1, again: 11, denied: 13, noFamily: 97, networkDown: 100 } as const

/** The longest frame that is received, with a VLAN tag. */
export const longestFrame = 1_522
const frameBufferBytes = 2_048
/** The size of the buffer in the kernel. It holds the answers of several hundred devices. */
const receiveBufferBytes = 1_048_576
const longestInterfaceName = 15

type CLibrary = Awaited<ReturnType<typeof loadCLibrary>>

async function loadCLibrary() {
  const { default: koffi } = await import('koffi')
  // The symbols of the running program contain the C library, independent of its name.
  const library = koffi.load(null)
  const filterProgram = koffi.struct({ length: 'uint16_t', instructions: 'void *' })
  return {
    socket: library.func('socket', 'int', ['int', 'int', 'int']),
    bind: library.func('bind', 'int', ['int', 'void *', 'uint32_t']),
    getsockname: library.func('getsockname', 'int', ['int', 'void *', 'void *']),
    setsockopt: library.func('setsockopt', 'int', ['int', 'int', 'int', 'void *', 'uint32_t']),
    setFilter: library.func('setsockopt', 'int', ['int', 'int', 'int', koffi.pointer(filterProgram), 'uint32_t']),
    filterBytes: koffi.sizeof(filterProgram),
    send: library.func('send', 'intptr_t', ['int', 'void *', 'size_t', 'int']),
    receive: library.func('recv', 'intptr_t', ['int', 'void *', 'size_t', 'int']),
    close: library.func('close', 'int', ['int']),
    indexOf: library.func('if_nametoindex', 'uint32_t', ['str']),
    errorNumber: () => koffi.errno(),
  }
}

let loaded: Promise<CLibrary> | undefined

function cLibrary(): Promise<CLibrary> {
  loaded ??= loadCLibrary()
  return loaded
}

/** The packet sockets of this machine. */
export const linuxEthernet: Ethernet = { problem, open, portsOf }

async function problem(): Promise<string | undefined> {
  if (process.platform !== 'linux')
    return `The link cannot send PROFINET frames on ${process.platform}, because it uses raw Ethernet sockets of Linux. Scan with a gateway on Linux in the network of the devices.`
  try {
    const library = await cLibrary()
    const descriptor: number = library.socket(addressFamily, rawSocket | closeOnExec, 0)
    if (descriptor < 0) return socketProblem(library.errorNumber())
    library.close(descriptor)
    return undefined
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return `The link cannot send PROFINET frames, because the library koffi cannot be loaded: ${reason}. Install the dependencies again with npm ci, with the optional ones.`
  }
}

function socketProblem(errorNumber: number): string {
  const cause = 'The link cannot send PROFINET frames'
  if (errorNumber === errors.notPermitted || errorNumber === errors.denied)
    return `${cause}, because it has no right to open raw Ethernet sockets (CAP_NET_RAW). Set AmbientCapabilities=CAP_NET_RAW in the systemd unit of the gateway, or run: sudo setcap cap_net_raw+ep ${process.execPath}. Then restart the gateway.`
  if (errorNumber === errors.noFamily)
    return `${cause}, because this system has no packet sockets (AF_PACKET). Allow them in the settings of the container or of the kernel.`
  return `${cause}: the system returns error ${errorNumber} for a raw Ethernet socket.`
}

async function portsOf(interfaceName: string): Promise<readonly string[]> {
  if (!isInterfaceName(interfaceName)) return [interfaceName]
  const ports = await readdir(`/sys/class/net/${interfaceName}/brif`).catch(() => [])
  return ports.length === 0 ? [interfaceName] : ports.toSorted()
}

function isInterfaceName(text: string): boolean {
  return text.length <= longestInterfaceName && /^[^\s/:]+$/.test(text) && text !== '.' && text !== '..'
}

async function open(options: SocketOptions): Promise<EthernetSocket> {
  const reason = await problem()
  if (reason !== undefined) throw new LinkError('FAILED_PRECONDITION', reason)
  const library = await cLibrary()
  const { interfaceName } = options
  const index: number = isInterfaceName(interfaceName) ? library.indexOf(interfaceName) : 0
  if (index === 0) throw new LinkError('INVALID_ARGUMENT', `The gateway has no network interface "${interfaceName}".`)
  const descriptor: number = library.socket(addressFamily, rawSocket | closeOnExec | nonBlocking, 0)
  if (descriptor < 0) throw new LinkError('FAILED_PRECONDITION', socketProblem(library.errorNumber()))
  try {
    return new PacketSocket(library, { descriptor, index, options })
  } catch (error) {
    library.close(descriptor)
    throw error
  }
}

type OpenSocket = { descriptor: number; index: number; options: SocketOptions }

/** `PacketSocket` is a packet socket of Linux. It receives nothing before its filter is set. */
class PacketSocket implements EthernetSocket {
  readonly macAddress: string
  readonly #library: CLibrary
  readonly #descriptor: number
  readonly #interfaceName: string
  readonly #buffer = Buffer.alloc(frameBufferBytes)
  #isOpen = true

  constructor(library: CLibrary, { descriptor, index, options }: OpenSocket) {
    this.#library = library
    this.#descriptor = descriptor
    this.#interfaceName = options.interfaceName
    const size = Buffer.alloc(4)
    size.writeInt32LE(receiveBufferBytes)
    this.#check(library.setsockopt(descriptor, socketLevel, receiveBuffer, size, size.length))
    if (options.frameId !== undefined) this.#setFilter(options.frameId)
    this.#check(library.bind(descriptor, linkAddress(options.etherType, index), addressBytes.link))
    this.macAddress = this.#readMacAddress()
    if (options.group !== undefined) {
      const membership = membershipOf(options.group, index)
      this.#check(library.setsockopt(descriptor, packetLevel, addMembership, membership, membership.length))
    }
  }

  send(frame: Buffer): void {
    // The number of a closed descriptor can belong to another file of this process.
    if (!this.#isOpen) throw new LinkError('UNAVAILABLE', `The socket of "${this.#interfaceName}" is closed.`)
    this.#check(this.#library.send(this.#descriptor, frame, frame.length, 0))
  }

  receive(): Buffer | undefined {
    if (!this.#isOpen) return undefined
    const length = Number(this.#library.receive(this.#descriptor, this.#buffer, this.#buffer.length, 0))
    if (length >= 0) return Buffer.from(this.#buffer.subarray(0, Math.min(length, longestFrame)))
    if (this.#library.errorNumber() === errors.again) return undefined
    throw this.#failure()
  }

  [Symbol.dispose](): void {
    if (this.#isOpen) this.#library.close(this.#descriptor)
    this.#isOpen = false
  }

  /** Sets a filter of the kernel that drops all frames with another value after the EtherType. */
  #setFilter(frameId: number): void {
    const instructions = Buffer.concat([
      instruction({ code: 0x28, value: 14 }),
      instruction({ code: 0x15, value: frameId, otherwise: 1 }),
      instruction({ code: 0x06, value: frameBufferBytes }),
      instruction({ code: 0x06, value: 0 }),
    ])
    const program = { length: instructions.length / 8, instructions }
    const { filterBytes } = this.#library
    this.#check(this.#library.setFilter(this.#descriptor, socketLevel, attachFilter, program, filterBytes))
  }

  #readMacAddress(): string {
    const address = Buffer.alloc(addressBytes.link)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(address.length)
    this.#check(this.#library.getsockname(this.#descriptor, address, length))
    if (address.readUInt16LE(8) !== ethernetType || address.readUInt8(11) !== 6)
      throw new LinkError(
        'INVALID_ARGUMENT',
        `The network interface "${this.#interfaceName}" is not an Ethernet interface. Set the option interface.`,
      )
    return macText(address.subarray(12, 18))
  }

  #check(result: number | bigint): void {
    if (Number(result) < 0) throw this.#failure()
  }

  #failure(): LinkError {
    const errorNumber = this.#library.errorNumber()
    const reason = errorNumber === errors.networkDown ? 'it is down' : `the system returns error ${errorNumber}`
    return new LinkError(
      'UNAVAILABLE',
      `The network interface "${this.#interfaceName}" cannot be used: ${reason}. Start the interface, or set the option interface.`,
    )
  }
}

/** Returns one instruction of a filter (classic BPF). `otherwise` is the number of instructions to skip without a match. */
function instruction({ code, value, otherwise = 0 }: { code: number; value: number; otherwise?: number }): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(otherwise, 3)
  bytes.writeUInt32LE(value, 4)
  return bytes
}

/** Returns a `sockaddr_ll`. The EtherType has the byte order of the network, the other fields that of the processor. */
function linkAddress(etherType: number, index: number): Buffer {
  const bytes = Buffer.alloc(addressBytes.link)
  bytes.writeUInt16LE(addressFamily, 0)
  bytes.writeUInt16BE(etherType, 2)
  bytes.writeInt32LE(index, 4)
  return bytes
}

/** Returns a `packet_mreq` for a multicast group. */
function membershipOf(group: string, index: number): Buffer {
  const bytes = Buffer.alloc(addressBytes.membership)
  bytes.writeInt32LE(index, 0)
  bytes.writeUInt16LE(multicastMembership, 4)
  bytes.writeUInt16LE(6, 6)
  macBytes(group).copy(bytes, 8)
  return bytes
}

/** Returns a MAC address in the form of the inventory, such as `02:00:5E:00:00:10`. */
export function macText(bytes: Buffer): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join(':')
}

export function macBytes(macAddress: string): Buffer {
  return Buffer.from(macAddress.replaceAll(/[:-]/g, ''), 'hex')
}

/** The interval in which a receiver reads the frames that have arrived. */
const readIntervalMs = 10
/** The maximum number of frames that are read at once from one socket, so that other work is not delayed. */
const mostFramesAtOnce = 256

type ReceiveOptions = {
  sockets: readonly EthernetSocket[]
  /** The time after which the receiver ends. Pauses of this process do not count. */
  ms: number
  signal: AbortSignal
  /** Returns whether the receiver ends before the time has passed. */
  onFrame: (frame: Buffer, socket: EthernetSocket) => boolean
}

/** Receives frames until the time has passed. Throws the reason of the signal, or the error of a socket. */
export async function receiveFrames({ sockets, ms, signal, onFrame }: ReceiveOptions): Promise<void> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const cancel = () => reject(signal.reason)
  const read = () => {
    try {
      if (sockets.some((socket) => readFrames(socket, onFrame))) resolve()
    } catch (error) {
      reject(error)
    }
  }
  signal.addEventListener('abort', cancel, { once: true })
  const reading = setInterval(read, readIntervalMs)
  using _timer = startTimer(ms, () => {
    read()
    resolve()
  })
  try {
    await promise
  } finally {
    clearInterval(reading)
    signal.removeEventListener('abort', cancel)
  }
}

/** Reads the frames that have arrived. Returns whether the receiver ends. */
function readFrames(socket: EthernetSocket, onFrame: ReceiveOptions['onFrame']): boolean {
  for (let count = 0; count < mostFramesAtOnce; count += 1) {
    const frame = socket.receive()
    if (frame === undefined) return false
    if (onFrame(frame, socket)) return true
  }
  return false
}
