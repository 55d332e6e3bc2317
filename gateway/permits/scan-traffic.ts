import { numberOfAddress } from '@millwright/api/ip-range.ts'
import { packetClassOf, receiptLimits } from '@millwright/api/receipt.ts'
import type { PermitRequest, RefusalReason } from '@millwright/api/scan-budget.ts'

type Counts = Record<string, number>

/** `AddressTraffic` is the traffic to one address, or to all addresses of a network. */
export type AddressTraffic = { packets: Counts; first: Date; last: Date }

/**
 * The number of addresses that are counted individually, and the number of networks by which the other addresses are
 * counted. A receipt has an entry for each of both. Together they are below the limit of entries, so that a receipt with
 * many classes of traffic is also below the limit of bytes. At most `hosts` addresses of one network are counted.
 */
const most = { addresses: receiptLimits.entries * 0.4, networks: receiptLimits.entries * 0.4, hosts: 65_536 } as const
const otherNetworks = '0.0.0.0/0'
const otherClasses = 'other'

/**
 * `ScanTraffic` counts the permits of one scan. Each permit counts as sent, so a count is never lower than the traffic on
 * the network. Memory is limited: a scan with many addresses counts the later addresses by network, and a link that sends
 * too many classes of traffic has the later classes counted as one class.
 */
export class ScanTraffic {
  readonly startedAt = new Date()
  readonly totals: Counts = {}
  readonly refused: Partial<Record<RefusalReason, number>> = {}
  readonly #addresses = new Map<string, AddressTraffic>()
  readonly #networks = new Map<string, AddressTraffic & { hosts: Set<number> }>()

  add({ address, protocol, operation }: PermitRequest, at: Date): void {
    const name = this.#classOf(packetClassOf({ protocol, operation }))
    this.totals[name] = (this.totals[name] ?? 0) + 1
    const traffic = this.#trafficOf(address, at)
    traffic.packets[name] = (traffic.packets[name] ?? 0) + 1
    traffic.last = at
  }

  #classOf(name: string): string {
    const isCounted = Object.hasOwn(this.totals, name) || Object.keys(this.totals).length < receiptLimits.classes - 1
    return isCounted ? name : otherClasses
  }

  addRefusal(reason: RefusalReason): void {
    this.refused[reason] = (this.refused[reason] ?? 0) + 1
  }

  /** Returns the traffic to individual addresses, in the order of their first permit. */
  get addresses(): ReadonlyMap<string, AddressTraffic> {
    return this.#addresses
  }

  /** Returns the traffic to the other addresses by network. */
  networks(): { network: string; addresses: number; traffic: AddressTraffic }[] {
    return [...this.#networks].map(([network, { hosts, ...traffic }]) => ({
      network,
      addresses: hosts.size,
      traffic,
    }))
  }

  #trafficOf(address: string, at: Date): AddressTraffic {
    const known = this.#addresses.get(address)
    if (known !== undefined) return known
    if (this.#addresses.size < most.addresses) {
      const traffic = { packets: {}, first: at, last: at }
      this.#addresses.set(address, traffic)
      return traffic
    }
    const own = networkOf(address)
    const network = this.#networks.has(own) || this.#networks.size < most.networks ? own : otherNetworks
    const traffic = this.#networks.get(network) ?? { packets: {}, first: at, last: at, hosts: new Set<number>() }
    if (traffic.hosts.size < most.hosts) traffic.hosts.add(numberOfAddress(address) ?? -1)
    this.#networks.set(network, traffic)
    return traffic
  }
}

/** Returns the /24 network of an IPv4 address. Ethernet groups belong to no network. */
function networkOf(address: string): string {
  if (numberOfAddress(address) === undefined) return otherNetworks
  return `${address.slice(0, address.lastIndexOf('.'))}.0/24`
}
