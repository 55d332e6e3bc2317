import type { ConnectionParameterSet } from '@millwright/api/proto/generated/address_pb.js'
import { LruMap } from 'toad-cache'
import { readIfExists, writeDurably } from '../durable-file.ts'
import type { Log } from '../log.ts'
import { addressOfConnection } from './device-address.ts'

/**
 * `DeviceConnection` describes how a link reaches a device. The link defines the parameters, for example the name of a
 * network interface of the link's machine.
 */
export type DeviceConnection = Pick<ConnectionParameterSet, 'schemaUri' | 'parameterJson' | 'subdriverJson'>

type Options = { file: string; log: Log }
type Stored = { assetLinkId: string; address: string; connection: DeviceConnection }

const limits = { connections: 10_000, characters: 4_096 } as const

/**
 * The delay before connections are written to disk. All connections that are reported in this period are written
 * together, because a scan reports many devices in a short time.
 */
const writeAfterMs = 2_000

/**
 * `DeviceConnections` stores the connections that links reported for devices, by link and IP address. Links without the
 * device-info interface find a device only with these parameters. The connections are therefore stored on disk for the
 * next start of the gateway. They do not include credentials.
 *
 * Many links report connections of protected devices only. For a device without a connection, the gateway uses the
 * connection of the device with the nearest address, and replaces the address in it.
 */
export class DeviceConnections {
  readonly #options: Options
  readonly #connections = new LruMap<Stored>(limits.connections)
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  private constructor(options: Options) {
    this.#options = options
  }

  static async open(options: Options): Promise<DeviceConnections> {
    const connections = new DeviceConnections(options)
    for (const stored of storedIn(await readIfExists(options.file))) connections.#connections.set(keyOf(stored), stored)
    return connections
  }

  /**
   * Stores the connection of a device. Addresses of the device that differ from the address in the connection are ignored,
   * because a device can report the addresses of other devices.
   */
  set(assetLinkId: string, address: string, { schemaUri, parameterJson, subdriverJson }: DeviceConnection): void {
    if (schemaUri.length + parameterJson.length + subdriverJson.length > limits.characters) return
    if (!leadsTo(address, { parameterJson })) return
    const stored: Stored = { assetLinkId, address, connection: { schemaUri, parameterJson, subdriverJson } }
    const before = this.#connections.get(keyOf(stored))
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(stored)) return
    this.#connections.set(keyOf(stored), stored)
    this.#timer ??= setTimeout(() => void this.#write(), writeAfterMs).unref()
  }

  find(assetLinkId: string, addresses: readonly string[]): DeviceConnection | undefined {
    for (const address of addresses) {
      const stored = this.#connections.get(keyOf({ assetLinkId, address }))
      if (stored !== undefined && leadsTo(address, stored.connection)) return stored.connection
    }
    const [address] = addresses
    return address === undefined ? undefined : this.#derived(assetLinkId, address)
  }

  #derived(assetLinkId: string, address: string): DeviceConnection | undefined {
    let nearest: Stored | undefined
    for (const { value } of this.#connections.items.values()) {
      if (value.assetLinkId !== assetLinkId || !namesAddress(value)) continue
      if (nearest === undefined || nearness(value.address, address) > nearness(nearest.address, address))
        nearest = value
    }
    if (nearest === undefined) return undefined
    const { parameterJson, ...rest } = nearest.connection
    return { ...rest, parameterJson: parameterJson.replaceAll(`"${nearest.address}"`, () => `"${address}"`) }
  }

  async close(): Promise<void> {
    if (this.#timer === undefined) return this.#writing
    clearTimeout(this.#timer)
    await this.#write()
  }

  #write(): Promise<void> {
    this.#timer = undefined
    const { file, log } = this.#options
    const stored = [...this.#connections.items.values()].map(({ value }) => value)
    this.#writing = this.#writing
      .then(() => writeDurably(file, JSON.stringify(stored)))
      .catch((error: unknown) => log.error({ error }, 'the connections of devices could not be written'))
    return this.#writing
  }
}

function keyOf({ assetLinkId, address }: Pick<Stored, 'assetLinkId' | 'address'>): string {
  return `${address} ${assetLinkId}`
}

/** Returns whether a connection is one to this address. A connection without an address can lead to any address. */
function leadsTo(address: string, connection: Pick<DeviceConnection, 'parameterJson'>): boolean {
  return (addressOfConnection(connection) ?? address) === address
}

/** Returns true when the parameters contain the address as a complete value, so that another address can replace it. */
function namesAddress({ address, connection }: Stored): boolean {
  return connection.parameterJson.includes(`"${address}"`)
}

/**
 * Returns the number of leading parts that two addresses have in common. Devices in the same network have most parts in
 * common.
 */
function nearness(one: string, other: string): number {
  const [parts, others] = [one.split(/[.:]/), other.split(/[.:]/)]
  const different = parts.findIndex((part, index) => part !== others[index])
  return different === -1 ? parts.length : different
}

/**
 * Returns the connections in the text of a file. Text that cannot be parsed counts as empty, because the next scan
 * reports the connections again.
 */
function storedIn(text: string | undefined): Stored[] {
  try {
    const stored: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(stored) ? stored.filter(isStored) : []
  } catch {
    return []
  }
}

function isStored(value: Partial<Stored> | null): value is Stored {
  const { assetLinkId, address, connection } = value ?? {}
  const { schemaUri, parameterJson, subdriverJson } = connection ?? {}
  return [assetLinkId, address, schemaUri, parameterJson, subdriverJson].every((text) => typeof text === 'string')
}
