import type { ConnectionParameterSet } from '@millwright/api/proto/generated/address_pb.js'
import { LruMap } from 'toad-cache'

const mostConnections = 10_000

/**
 * The connections under which links reported devices, by link and IP address. Links without the device-info interface
 * find a device by these parameters only.
 */
export class DeviceConnections {
  readonly #connections = new LruMap<ConnectionParameterSet>(mostConnections)

  set(assetLinkId: string, address: string, connection: ConnectionParameterSet): void {
    this.#connections.set(keyOf(assetLinkId, address), connection)
  }

  find(assetLinkId: string, addresses: readonly string[]): ConnectionParameterSet | undefined {
    for (const address of addresses) {
      const connection = this.#connections.get(keyOf(assetLinkId, address))
      if (connection !== undefined) return connection
    }
    return undefined
  }
}

function keyOf(assetLinkId: string, address: string): string {
  return `${address} ${assetLinkId}`
}
