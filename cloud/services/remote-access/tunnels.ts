import { randomUUID } from 'node:crypto'
import type { MessageChannel } from '@millwright/api/tunnel/channel.ts'
import { Tunnel } from '@millwright/api/tunnel/tunnel.ts'
import type { Context } from '../../platform/service.ts'
import { endByPlatform } from './session-end.ts'
import { sessionsTopic } from './session-report.ts'
import { clearStreams, listUnended } from './session-store.ts'
import { tunnelTopic } from './switches.ts'
import { deleteTunnel, findTunnel, noteSeen, putTunnel, type TunnelRow } from './tunnel-store.ts'

/** The gateway of a tunnel. */
export type TunnelOwner = { tenantId: string; gatewayId: string }

type HeldTunnel = TunnelOwner & { tunnel: Tunnel }

const revokedDetail = 'The gateway was revoked or deleted'

/** The interval at which the process records that it still holds its tunnels. */
const heartbeatMs = 5_000

/**
 * `Tunnels` holds the tunnels of the gateways that are connected to this process. The database stores which process holds
 * the tunnel of a gateway, so that other processes forward their streams to it. A gateway has one tunnel: a new one closes
 * the former one, also in another process. If a process dies, its tunnels count as closed after some seconds.
 */
export class Tunnels {
  readonly processId = randomUUID()
  readonly #context: Context
  readonly #tunnels = new Map<string, HeldTunnel>()
  /**
   * The last write of the row of each gateway. All writes of a gateway are in order, so that the deletion of the row of a
   * former tunnel cannot follow the insertion of the row of the new one.
   */
  readonly #writes = new Map<string, Promise<void>>()
  #heartbeat: NodeJS.Timeout | undefined

  constructor(context: Context) {
    this.#context = context
    context.database.onCommit(({ tenantId, topics }) => {
      for (const topic of topics)
        if (topic.startsWith(tunnelTopic)) {
          const owner = { tenantId, gatewayId: topic.slice(tunnelTopic.length) }
          // The sessions of the gateway end in the same commit. Their streams get this reason first.
          setImmediate(() => this.#close(owner, revokedDetail))
        }
    })
    context.stopping.addEventListener('abort', () => this.#stop(), { once: true })
  }

  /** Returns the tunnel of a gateway, if this process holds it. */
  find(owner: TunnelOwner): Tunnel | undefined {
    return this.#tunnels.get(keyOf(owner))?.tunnel
  }

  /**
   * Returns the process that holds the tunnel of a gateway, if it is another one. A former process at the address of this
   * process was killed and holds no tunnel.
   */
  async findElsewhere({ tenantId, gatewayId }: TunnelOwner): Promise<TunnelRow | undefined> {
    const { database, settings } = this.#context
    const row = await database.read({ tenantId }, (handle) => findTunnel(handle, gatewayId))
    return row?.processId === this.processId || row?.processUrl === settings.internalUrl ? undefined : row
  }

  /** Uses the channel that a gateway opened: for a new tunnel, or to resume its tunnel after the loss of a channel. */
  accept(owner: TunnelOwner, channel: MessageChannel): void {
    Tunnel.accept(channel, {
      find: (id) => {
        const tunnel = this.find(owner)
        return tunnel?.id === id && tunnel.state !== 'closed' ? tunnel : undefined
      },
      create: (id) => this.#create(owner, id),
    })
  }

  #create(owner: TunnelOwner, id: string): Tunnel {
    this.#close(owner, 'The gateway opened another tunnel')
    const tunnel = new Tunnel({ role: 'cloud', id })
    const held: HeldTunnel = { ...owner, tunnel }
    this.#tunnels.set(keyOf(owner), held)
    tunnel.on('closed', () => {
      if (this.#tunnels.get(keyOf(owner)) !== held) return
      this.#tunnels.delete(keyOf(owner))
      this.#store(held, () => this.#remove(owner))
    })
    this.#store(held, () => this.#register(owner))
    this.#heartbeat ??= setInterval(() => void this.#beat(), heartbeatMs).unref()
    return tunnel
  }

  /** Writes the row of a gateway after its earlier writes. */
  #store(held: HeldTunnel, write: () => Promise<void>): void {
    const key = keyOf(held)
    const earlier = this.#writes.get(key) ?? Promise.resolve()
    const written = earlier
      .then(write)
      .catch((error: unknown) => {
        this.#context.log.warn({ error, gateway: held.gatewayId }, 'The tunnel of a gateway could not be stored')
        held.tunnel.close('The platform could not store the tunnel')
      })
      .then(() => {
        if (this.#writes.get(key) === written) this.#writes.delete(key)
      })
    this.#writes.set(key, written)
  }

  async #register({ tenantId, gatewayId }: TunnelOwner): Promise<void> {
    const { database, settings } = this.#context
    await database.transaction({ tenantId }, async (tx) => {
      await putTunnel(tx, {
        gatewayId,
        processId: this.processId,
        processUrl: settings.internalUrl,
        connectedAt: new Date().toISOString(),
      })
      await clearStreams(tx, gatewayId)
      // Approved sessions that wait for the gateway can connect now.
      tx.signal(sessionsTopic)
    })
  }

  async #remove({ tenantId, gatewayId }: TunnelOwner): Promise<void> {
    await this.#context.database.transaction({ tenantId }, (tx) => deleteTunnel(tx, gatewayId, this.processId))
  }

  #close(owner: TunnelOwner, reason: string): void {
    const held = this.#tunnels.get(keyOf(owner))
    held?.tunnel.close(reason)
  }

  /** Records that this process holds its tunnels. Closes tunnels that another process holds now, and of revoked gateways. */
  async #beat(): Promise<void> {
    const byTenant = Map.groupBy(this.#tunnels.values(), ({ tenantId }) => tenantId)
    for (const [tenantId, held] of byTenant) {
      try {
        await Promise.all(held.map((one) => this.#writes.get(keyOf(one))))
        const gatewayIds = held.map(({ gatewayId }) => gatewayId)
        const now = new Date().toISOString()
        const kept = await this.#context.database.transaction({ tenantId }, (tx) =>
          noteSeen(tx, { processId: this.processId, gatewayIds, now }),
        )
        for (const { gatewayId, tunnel } of held) {
          if (!kept.includes(gatewayId)) tunnel.close('The gateway opened another tunnel')
          const access = await this.#context.access.of(tenantId, gatewayId)
          if (access === undefined || access.principal.disabled) await this.#revoke({ tenantId, gatewayId })
        }
      } catch (error) {
        this.#context.log.warn({ error }, 'The tunnels of gateways could not be recorded as open')
      }
    }
  }

  /** Closes the tunnel of a revoked gateway. Its sessions end first, so that their streams get this reason. */
  async #revoke(owner: TunnelOwner): Promise<void> {
    const { tenantId, gatewayId } = owner
    try {
      const ids = await this.#context.database.read({ tenantId }, (handle) => listUnended(handle, { gatewayId }))
      for (const id of ids)
        await endByPlatform(this.#context, tenantId, { id, ending: 'gateway-offline', detail: revokedDetail })
    } finally {
      this.#close(owner, revokedDetail)
    }
  }

  #stop(): void {
    clearInterval(this.#heartbeat)
    for (const { tunnel } of [...this.#tunnels.values()]) tunnel.close('The process of the platform restarts')
  }
}

function keyOf({ tenantId, gatewayId }: TunnelOwner): string {
  return `${tenantId} ${gatewayId}`
}
