import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { connectTo, type EthernetIpConnection } from './connection.ts'
import { EthernetIpError } from './ethernet-ip-error.ts'
import type { ObjectPath } from './message.ts'

/** The number of further connections to a device that closes its connections. */
const mostReconnections = 3

/**
 * `ObjectReader` reads objects over a connection. Some devices close the connection after a request for an object that they
 * do not have. Then it opens another connection, and sends the request again.
 */
export class ObjectReader implements Disposable {
  readonly #options: ContactOptions
  #connection: EthernetIpConnection
  #reconnections = 0

  constructor(connection: EthernetIpConnection, options: ContactOptions) {
    this.#connection = connection
    this.#options = options
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]()
  }

  /** Reads one attribute, or all attributes if the path has none, of the device or of the module in a slot. */
  async read(path: ObjectPath, slot?: number): Promise<Buffer> {
    try {
      return await this.#connection.read(path, slot)
    } catch (error) {
      const isClosed = error instanceof EthernetIpError && error.fault === 'closed'
      if (!isClosed || !(await this.#reconnect())) throw error
      return await this.#connection.read(path, slot)
    }
  }

  async #reconnect(): Promise<boolean> {
    if (this.#reconnections === mostReconnections) return false
    this.#reconnections += 1
    const connection = await connectTo(this.#options)
    if (connection === undefined) return false
    this.#connection[Symbol.dispose]()
    this.#connection = connection
    return true
  }
}
