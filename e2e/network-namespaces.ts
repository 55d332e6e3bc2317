import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** `NetworkHost` is an interface with its own MAC address, which other hosts see as a separate device. */
type NetworkHost = { address: string; macAddress: string }

/** `PacketCapture` is a running capture. Both functions return the packets in the pcap format. */
export type PacketCapture = { packets: () => Buffer; end: () => Promise<Buffer> }

/** Why network namespaces cannot be used here. */
export const missingRights = 'network namespaces need Linux, root and the program ip'

/** Why packets cannot be captured here. */
export const missingCapture = 'tcpdump is not installed'

/**
 * `NetworkNamespaces` are two separate networks on this machine. The namespace `gateway` contains a bridge, to which all
 * hosts are connected. The namespace `devices` contains the other ends of the cables. Nothing in them reaches the network
 * of the machine. Disposing removes both, with all interfaces.
 */
export class NetworkNamespaces implements AsyncDisposable {
  static #last = 0
  readonly gateway: string
  readonly devices: string

  private constructor() {
    NetworkNamespaces.#last += 1
    const name = `millwright-${process.pid}-${NetworkNamespaces.#last}`
    this.gateway = `${name}-gateway`
    this.devices = `${name}-devices`
  }

  /** Creates the namespaces. Returns undefined if the rights are missing. */
  static async create(): Promise<NetworkNamespaces | undefined> {
    const namespaces = new NetworkNamespaces()
    try {
      for (const name of [namespaces.gateway, namespaces.devices]) {
        await run('ip', ['netns', 'add', name])
        await run('ip', ['-n', name, 'link', 'set', 'lo', 'up'])
      }
    } catch {
      await namespaces[Symbol.asyncDispose]()
      return undefined
    }
    // A host answers to ARP requests only for its own address, as if it were the only host of the namespace.
    for (const setting of ['arp_ignore=1', 'arp_announce=2', 'rp_filter=0'])
      await run('ip', ['netns', 'exec', namespaces.devices, 'sysctl', '-qw', `net.ipv4.conf.all.${setting}`])
    return namespaces
  }

  /**
   * Connects hosts to the bridge. The bridge has the address `gatewayAddress`, from which links scan the hosts.
   */
  async connect(
    hosts: readonly NetworkHost[],
    { gatewayAddress, gatewayMac }: { gatewayAddress: string; gatewayMac?: string },
  ): Promise<void> {
    await this.#ip(this.gateway, [
      `link add bridge ${gatewayMac === undefined ? '' : `address ${gatewayMac} `}type bridge`,
      `addr add ${gatewayAddress} dev bridge`,
      'link set bridge up',
      ...hosts.flatMap((_, index) => [
        `link add port${index} type veth peer name host${index} netns ${this.devices}`,
        `link set port${index} master bridge up`,
      ]),
    ])
    const bits = gatewayAddress.split('/')[1]
    await this.#ip(
      this.devices,
      hosts.flatMap(({ address, macAddress }, index) => [
        `link set host${index} address ${macAddress} up`,
        `addr add ${address}/${bits} dev host${index}`,
      ]),
    )
  }

  /**
   * Adds addresses behind a router, which is the first host. All other addresses of the range are silent: the router
   * drops packets to them.
   */
  async addBehindRouter(addresses: readonly string[], { range, router }: { range: string; router: string }) {
    await run('ip', ['netns', 'exec', this.devices, 'sysctl', '-qw', 'net.ipv4.ip_forward=1'])
    await this.#ip(this.devices, [
      `route add blackhole ${range}`,
      ...addresses.map((address) => `addr add ${address}/32 dev lo`),
    ])
    await this.#ip(this.gateway, [`route add ${range} via ${router}`])
  }

  /** Starts a program in a namespace. */
  spawn(namespace: string, command: readonly string[], options: SpawnOptions): ChildProcess {
    return spawn('ip', ['netns', 'exec', namespace, ...command], options)
  }

  /**
   * Captures the first bytes of each packet at the bridge of the gateway, by default all bytes. Returns undefined if
   * tcpdump cannot run.
   */
  async capture({ bytes = 65_535 } = {}): Promise<PacketCapture | undefined> {
    const args = ['-i', 'bridge', '-s', String(bytes), '-B', '16384', '--immediate-mode', '-Z', 'root', '-U', '-w', '-']
    const child = this.spawn(this.gateway, ['tcpdump', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    if (child.stdout === null || child.stderr === null) throw new TypeError('tcpdump has no output')
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    const packets = () => Buffer.concat(chunks)
    const ended = once(child, 'close')
    const started = new Promise<boolean>((resolve) => {
      child.stderr?.on('data', (text) => String(text).includes('listening on') && resolve(true))
      ended.then(() => resolve(false))
    })
    if (!(await started)) return undefined
    const end = async () => {
      child.kill()
      await ended
      return packets()
    }
    return { packets, end }
  }

  async #ip(namespace: string, lines: readonly string[]): Promise<void> {
    const running = run('ip', ['-n', namespace, '-batch', '-'])
    running.child.stdin?.end(`${lines.join('\n')}\n`)
    await running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [this.gateway, this.devices]) await run('ip', ['netns', 'delete', name]).catch(() => undefined)
  }
}
