import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Ethernet, EthernetSocket } from './raw-ethernet.ts'
import type { SegmentCall, SegmentResult } from './segment-scan.ts'
import { answersTo, lldpFrame, type SimulatedDevice } from './simulator.ts'

const run = promisify(execFile)

/** `MemoryEthernet` is a segment in memory. `sent` contains the frames of the link, and `open` the number of open sockets. */
export type MemoryEthernet = Ethernet & { sent: Buffer[]; open: Ethernet['open']; openSockets: () => number }

/** The MAC address of the link in a segment in memory. */
export const linkMac = '02:00:5E:77:00:01'

/** Returns a segment with simulated devices by their MAC addresses, without sockets of the operating system. */
export function memoryEthernet(devices: Readonly<Record<string, SimulatedDevice>>): MemoryEthernet {
  const sent: Buffer[] = []
  let openSockets = 0
  const open: Ethernet['open'] = async ({ etherType }) => {
    openSockets += 1
    const waiting: Buffer[] = []
    if (etherType === 0x88cc)
      for (const [mac, { lldp }] of Object.entries(devices)) if (lldp !== undefined) waiting.push(lldpFrame(lldp, mac))
    const socket: EthernetSocket = {
      macAddress: linkMac,
      send: (frame) => {
        sent.push(frame)
        for (const [macAddress, device] of Object.entries(devices))
          waiting.push(...answersTo(device, { request: frame, macAddress }))
      },
      receive: () => waiting.shift(),
      [Symbol.dispose]: () => {
        openSockets -= 1
      },
    }
    return socket
  }
  return {
    sent,
    open,
    openSockets: () => openSockets,
    problem: async () => undefined,
    portsOf: async (name) => [name],
  }
}

/** Why network namespaces cannot be used here. */
export const missingRights = 'network namespaces need Linux, root and the program ip'

/** The network of the hosts of an `EthernetSegment`. The gateway has the first address. */
export const segmentRange = '10.78.0.0/24'

/**
 * `EthernetSegment` is a network on this machine for tests. The namespace `gateway` contains a bridge, to which the
 * interfaces `host0`, `host1` and so on of the namespace `devices` are connected. A further cable connects the interface
 * `direct` of the gateway with the interface `remote`, without IP addresses. Nothing in them reaches the network of the
 * machine. Disposing removes both namespaces, and ends the programs in them.
 */
export class EthernetSegment implements AsyncDisposable {
  static #last = 0
  readonly gateway: string
  readonly devices: string
  readonly folder: string
  readonly #children: ChildProcess[] = []

  private constructor(folder: string) {
    EthernetSegment.#last += 1
    const name = `millwright-pn-${process.pid}-${EthernetSegment.#last}`
    this.gateway = `${name}-gateway`
    this.devices = `${name}-devices`
    this.folder = folder
  }

  /** Creates a segment with a number of hosts. Returns undefined if the rights are missing. */
  static async create(hosts: number): Promise<EthernetSegment | undefined> {
    const segment = new EthernetSegment(await mkdtemp(join(tmpdir(), 'millwright-profinet-')))
    try {
      for (const name of [segment.gateway, segment.devices]) await run('ip', ['netns', 'add', name])
    } catch {
      await segment[Symbol.asyncDispose]()
      return undefined
    }
    await segment.#ip(segment.gateway, [
      'link add bridge type bridge',
      'addr add 10.78.0.1/24 dev bridge',
      'link set bridge up',
      ...Array.from({ length: hosts }, (_, index) => [
        `link add port${index} type veth peer name host${index} netns ${segment.devices}`,
        `link set port${index} master bridge up`,
      ]).flat(),
      `link add direct type veth peer name remote netns ${segment.devices}`,
      'link set direct up',
    ])
    // A host answers to ARP requests only for its own address, as if it were the only host of the namespace.
    for (const setting of ['arp_ignore=1', 'arp_announce=2', 'rp_filter=0'])
      await run('ip', ['netns', 'exec', segment.devices, 'sysctl', '-qw', `net.ipv4.conf.all.${setting}`])
    await segment.#ip(segment.devices, [
      ...Array.from({ length: hosts }, (_, index) => [
        `link set host${index} address ${hostMac(index)} up`,
        `addr add ${hostAddress(index)}/24 dev host${index}`,
      ]).flat(),
      `link set remote address ${hostMac(255)} up`,
    ])
    return segment
  }

  /** Takes an interface of the gateway down. */
  async takeDown(interfaceName: string): Promise<void> {
    await this.#ip(this.gateway, [`link set ${interfaceName} down`])
  }

  /**
   * Starts simulated devices by the names of their interfaces. Returns the lines with the Identify frames that they receive,
   * to which further lines are added.
   */
  async startDevices(devices: Readonly<Record<string, SimulatedDevice>>): Promise<string[]> {
    const file = join(this.folder, 'devices.json')
    await writeFile(file, JSON.stringify(devices))
    const command = [process.execPath, join(import.meta.dirname, 'simulator.ts'), '--file', file]
    return this.startProgram(command, 'ready')
  }

  /** Starts a program in the namespace of the devices, and waits for a line of its output. Returns its further lines. */
  async startProgram(command: readonly string[], line: string): Promise<string[]> {
    const child = spawn('ip', ['netns', 'exec', this.devices, ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#children.push(child)
    const lines: string[] = []
    const started = new Promise<void>((resolve, reject) => {
      createInterface(child.stdout).on('line', (one) => (one === line ? resolve() : lines.push(one)))
      child.once('close', () => reject(new Error(`The program ended: ${command.join(' ')}`)))
    })
    await started
    return lines
  }

  /** Runs a call of the link in the namespace of the gateway. */
  async call(call: SegmentCall, { program = [] as readonly string[] } = {}): Promise<SegmentResult> {
    const script = join(import.meta.dirname, 'segment-scan.ts')
    const command = ['netns', 'exec', this.gateway, ...program, process.execPath, script]
    const child = spawn('ip', command, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#children.push(child)
    child.stdin.end(JSON.stringify(call))
    return JSON.parse(await text(child.stdout))
  }

  async #ip(namespace: string, lines: readonly string[]): Promise<void> {
    const running = run('ip', ['-n', namespace, '-batch', '-'])
    running.child.stdin?.end(`${lines.join('\n')}\n`)
    await running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const ended = once(child, 'close')
      child.kill()
      await ended
    }
    for (const name of [this.gateway, this.devices]) await run('ip', ['netns', 'delete', name]).catch(() => undefined)
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** Returns the MAC address of a host. */
export function hostMac(index: number): string {
  return `02:00:5E:78:00:${index.toString(16).padStart(2, '0').toUpperCase()}`
}

/** Returns the IP address of a host. */
export function hostAddress(index: number): string {
  return `10.78.0.${index + 10}`
}
