import { createHash } from 'node:crypto'
import { canonicalJson } from '@millwright/api/canonical-json.ts'
import type { ConnectionParameterSet } from '@millwright/api/proto/generated/address_pb.js'
import { LruMap } from 'toad-cache'
import { DelayedFile, readIfExists, storedItems } from '../durable-file.ts'
import type { Log } from '../log.ts'
import { type Document, documentsOf, isDocument } from '../mapping/document.ts'
import { addressOfConnection } from './device-address.ts'

/**
 * `DeviceConnection` describes how a link reaches a device. The link defines the parameters, for example the name of a
 * network interface of the link's machine.
 */
export type DeviceConnection = Pick<ConnectionParameterSet, 'schemaUri' | 'parameterJson' | 'subdriverJson'>

type Options = { file: string; log: Log }
type DevicePlace = { addresses: readonly string[]; identifiers?: unknown }
type Stored = {
  assetLinkId: string
  address: string
  connection: DeviceConnection
  /** Digests of the identifiers of the device. They are absent if the device could not be read. */
  identifiers?: string[]
}

const limits = { connections: 10_000, characters: 4_096, identifiers: 32 } as const

/**
 * `DeviceConnections` stores the connections that links reported for devices, by link, IP address and device. Several
 * devices can have one address, for example the units behind a Modbus gateway. The connections are stored on disk, so that
 * devices can be read after a restart of the gateway or of a link. They do not include credentials.
 *
 * Many links report connections of protected devices only. For a device without a connection, the gateway can use the
 * connection of the device with the nearest address, and replaces the address in it.
 */
export class DeviceConnections {
  readonly #file: DelayedFile
  readonly #connections = new LruMap<Stored>(limits.connections)

  private constructor(options: Options) {
    this.#file = new DelayedFile({
      ...options,
      content: () => JSON.stringify([...this.#connections.items.values()].map(({ value }) => value)),
      failure: 'the connections of devices could not be written',
    })
  }

  static async open(options: Options): Promise<DeviceConnections> {
    const connections = new DeviceConnections(options)
    for (const stored of storedItems(await readIfExists(options.file), isStored))
      connections.#connections.set(keyOf(stored), stored)
    return connections
  }

  /**
   * Stores the connection of a device. Addresses of the device that differ from the address in the connection are ignored,
   * because a device can report the addresses of other devices.
   */
  set(
    assetLinkId: string,
    address: string,
    { schemaUri, parameterJson, subdriverJson }: DeviceConnection,
    asset?: Document,
  ): void {
    if (schemaUri.length + parameterJson.length + subdriverJson.length > limits.characters) return
    if (!leadsTo(address, { parameterJson })) return
    const connection = { schemaUri, parameterJson, subdriverJson }
    const identifiers = digestsOf(asset?.asset_identifiers)
    const stored: Stored = { assetLinkId, address, connection, ...(identifiers.length === 0 ? {} : { identifiers }) }
    const before = this.#connections.get(keyOf(stored))
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(stored)) return
    this.#connections.set(keyOf(stored), stored)
    this.#file.change()
  }

  /**
   * Returns the connection of a device at the first of the addresses that has one: the connection of the device with the most
   * of these identifiers, or else one of a device that could not be read.
   */
  find(assetLinkId: string, { addresses, identifiers }: DevicePlace): DeviceConnection | undefined {
    const digests = new Set(digestsOf(identifiers))
    const shared = (one: Stored) => one.identifiers?.filter((digest) => digests.has(digest)).length ?? 0
    for (const address of addresses) {
      const here = this.#at(assetLinkId, address)
      const [best] = here.toSorted((a, b) => shared(b) - shared(a))
      if (best !== undefined && shared(best) > 0) return best.connection
      const unread = here.find((one) => one.identifiers === undefined)
      if (unread !== undefined) return unread.connection
    }
    return undefined
  }

  /** Returns a connection to any device at one of the addresses, or the nearest one with its address replaced. */
  findNearest(assetLinkId: string, addresses: readonly string[]): DeviceConnection | undefined {
    const [known] = addresses.flatMap((address) => this.#at(assetLinkId, address))
    if (known !== undefined) return known.connection
    const [address] = addresses
    return address === undefined ? undefined : this.#derived(assetLinkId, address)
  }

  #at(assetLinkId: string, address: string): Stored[] {
    return [...this.#connections.items.values()].flatMap(({ value }) =>
      value.assetLinkId === assetLinkId && value.address === address && leadsTo(address, value.connection)
        ? [value]
        : [],
    )
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

  close(): Promise<void> {
    return this.#file.close()
  }
}

function keyOf({ assetLinkId, address, identifiers = [] }: Stored): string {
  return `${address} ${assetLinkId} ${identifiers.join(' ')}`
}

/**
 * Returns a short digest of each identifier, independent of the order of its fields. Links and the inventory write equal
 * identifiers in different ways, for example with upper-case MAC addresses.
 */
export function digestsOf(identifiers: unknown): string[] {
  const digests = documentsOf(identifiers).map((one) =>
    createHash('sha1')
      .update(canonicalJson(comparable(one)))
      .digest('base64url')
      .slice(0, 12),
  )
  return digests.toSorted().slice(0, limits.identifiers)
}

const annotations: readonly string[] = ['identifier_type', 'identifier_uncertainty']

function comparable(identifier: Document): Document {
  return Object.fromEntries(
    Object.entries(identifier).flatMap(([name, value]) => {
      if (value === undefined || value === null || annotations.includes(name)) return []
      return [[name, isDocument(value) ? comparable(value) : comparableValue(name, value)]]
    }),
  )
}

function comparableValue(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  const text = value.trim().toLowerCase()
  return name === 'mac_address' ? text.replaceAll(/[^0-9a-f]/g, '') : text
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

function isStored(value: Partial<Stored> | null): value is Stored {
  const { assetLinkId, address, connection, identifiers = [] } = value ?? {}
  const { schemaUri, parameterJson, subdriverJson } = connection ?? {}
  return (
    Array.isArray(identifiers) &&
    [assetLinkId, address, schemaUri, parameterJson, subdriverJson, ...identifiers].every(
      (text) => typeof text === 'string',
    )
  )
}
