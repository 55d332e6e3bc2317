import { TestDevice } from '@millwright/gateway/remote-access/testing.ts'
import { type Caller, temporaryFolder, until } from '../platform.ts'
import type { Program } from '../program.ts'
import { allowPorts, connectDevice, type RemoteDevice } from '../remote-device.ts'
import { type Replica, Replicas } from '../replicas.ts'
import { killed, plant, startGateway, startPlant } from '../shop-floor.ts'
import { mountDisk, unmountDisk } from '../small-disk.ts'
import { SlowNetwork } from './slow-network.ts'

/**
 * `EnduranceSite` starts all processes of an endurance run: two processes of the platform with one database, a gateway, and the
 * link of a simulated plant. Clients and the gateway reach the load balancer through a network that can be slow. A device on
 * this machine returns all bytes of remote sessions.
 */

const processCount = 2
/** The database has a separate disk, which a fault can fill. It uses only as much memory as its content. */
const diskMiB = 6_144
/** The write-ahead log is small, because the disk is in memory. */
const databaseSettings = { max_wal_size: '256MB' }
const gatewayName = 'hall'

export const metricsToken = 'endurance-metrics'

export class EnduranceSite implements AsyncDisposable {
  readonly network: SlowNetwork
  readonly replicas: Replicas
  /** True when the database has a separate disk. */
  readonly hasDisk: boolean
  readonly diskMiB = diskMiB
  readonly #disk: ReturnType<typeof temporaryFolder>
  readonly device: TestDevice
  #floor: RemoteDevice | undefined
  #plant: Program | undefined

  private constructor(
    parts: Pick<EnduranceSite, 'network' | 'replicas' | 'device' | 'hasDisk'>,
    disk: ReturnType<typeof temporaryFolder>,
  ) {
    this.network = parts.network
    this.replicas = parts.replicas
    this.device = parts.device
    this.hasDisk = parts.hasDisk
    this.#disk = disk
  }

  static async start(): Promise<EnduranceSite> {
    const disk = temporaryFolder('endurance')
    const hasDisk = mountDisk(disk.path, diskMiB)
    const network = await SlowNetwork.start()
    const replicas = await Replicas.open({
      database: disk.path,
      settings: databaseSettings,
      environment: {
        MILLWRIGHT_BASE_URL: `http://localhost:${network.port}`,
        MILLWRIGHT_OUTBOUND_ALLOW: '127.0.0.1',
        MILLWRIGHT_METRICS_TOKEN: metricsToken,
        MILLWRIGHT_LOG_LEVEL: 'warn',
      },
    })
    const device = await TestDevice.start((socket) => socket.pipe(socket))
    const site = new EnduranceSite({ network, replicas, device, hasDisk }, disk)
    try {
      await site.#start()
    } catch (error) {
      await site[Symbol.asyncDispose]()
      throw error
    }
    return site
  }

  /** The processes of the platform. */
  get platforms(): readonly Replica[] {
    return Array.from({ length: processCount }, (_, index) => this.replicas.at(index))
  }

  get floor(): RemoteDevice {
    if (this.#floor === undefined) throw new Error('The gateway has not started')
    return this.#floor
  }

  get plant(): Program {
    if (this.#plant === undefined) throw new Error('The link has not started')
    return this.#plant
  }

  async #start(): Promise<void> {
    const names = Array.from({ length: processCount }, (_, index) => `process-${index}`)
    await Promise.all(names.map((name) => this.replicas.add(name)))
    this.replicas.balance(this.platforms)
    this.network.setTarget(this.replicas.port)
    const caller = await this.replicas.caller()
    const ports = [this.device.port]
    this.#floor = await connectDevice(caller, { home: this.replicas.folder, name: gatewayName, ports })
    await allowPorts(caller, this.#floor.groupId, ports)
    this.#plant = startPlant(this.#floor.gateway, { home: this.replicas.folder })
  }

  async restartGateway(): Promise<void> {
    const { gateway } = this.floor
    await killed(gateway.program)
    await this.plant[Symbol.asyncDispose]()
    const options = { home: this.replicas.folder, id: gateway.id }
    this.floor.gateway = await startGateway(gatewayName, options)
    this.#plant = startPlant(this.floor.gateway, { home: this.replicas.folder })
  }

  async restartPlant(): Promise<void> {
    await killed(this.plant)
    this.#plant = startPlant(this.floor.gateway, { home: this.replicas.folder })
  }

  /** Waits until all processes are ready, and the gateway and its link are connected. */
  async untilReady(caller: Caller, limitMs: number): Promise<void> {
    const { gateway } = this.floor
    const isReady = async () => {
      for (const { url } of this.platforms)
        if ((await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) })).status !== 200) return false
      const [link] = (await gateway.status()).links.filter(({ state }) => state === 'running')
      if (link === undefined) return false
      const { data: links } = await caller.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
      if (!links.some(({ assetLinkId, reachable }) => assetLinkId === plant && reachable)) return false
      const { data: tunnels } = await caller['remote-access'].listGateways({})
      return tunnels.some(({ gatewayId, isConnected }) => gatewayId === gateway.id && isConnected)
    }
    await until('all processes are ready again', () => isReady().catch(() => false), limitMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const parts: (AsyncDisposable | undefined)[] = [
      this.#plant,
      this.#floor?.gateway.program,
      this.replicas,
      this.network,
      this.device,
    ]
    for (const part of parts) await part?.[Symbol.asyncDispose]()
    if (this.hasDisk) unmountDisk(this.#disk.path)
    this.#disk[Symbol.dispose]()
  }
}
