import type { ConnectionParameterSet } from '@millwright/api/proto/generated/address_pb.js'

const mostConnections = 10_000

/**
 * The connections under which links reported devices, by link and IP address. Links without the device-info interface
 * find a device by these parameters only. The oldest entries are dropped first.
 */
export class DeviceConnections {
  readonly #connections = new Map<string, ConnectionParameterSet>()

  set(assetLinkId: string, address: string, connection: ConnectionParameterSet): void {
    const key = keyOf(assetLinkId, address)
    this.#connections.delete(key)
    this.#connections.set(key, connection)
    if (this.#connections.size <= mostConnections) return
    const [oldest] = this.#connections.keys()
    if (oldest !== undefined) this.#connections.delete(oldest)
  }

  find(assetLinkId: string, addresses: readonly string[]): ConnectionParameterSet | undefined {
    const known = addresses.find((address) => this.#connections.has(keyOf(assetLinkId, address)))
    return known === undefined ? undefined : this.#connections.get(keyOf(assetLinkId, known))
  }
}

function keyOf(assetLinkId: string, address: string): string {
  return `${address} ${assetLinkId}`
}
