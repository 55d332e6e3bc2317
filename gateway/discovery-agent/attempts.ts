import { addressesOf } from '../device-info/device-address.ts'
import { type DeviceDestination, destinationOf } from '../device-info/device-info.ts'
import type { Credential } from '../job-credentials.ts'
import type { MappingResult } from '../mapping/asset.ts'
import type { ReportedError } from './device-error.ts'
import { locationOf, type ProtectedDevice } from './protected-device.ts'
import type { ReportedDevice } from './scan.ts'

/** `Attempt` is one attempt to read a protected device with one set of credentials. */
export type Attempt = { locked: ProtectedDevice; credential: Credential }

/**
 * Returns true when a reported device is the device at the requested address. Returns false for a module inside this
 * device, which the link reaches through the same address. If only one protected device has the address (`isAlone`),
 * the reported device is always that device.
 */
export function isAt(address: string, { asset }: MappingResult, { isAlone }: { isAlone: boolean }): boolean {
  return isAlone || addressesOf(asset).includes(address)
}

/**
 * `Attempts` finds the attempt that a result of the link belongs to. Results are matched by the connection, or by the
 * address if the link reports no connection.
 */
export class Attempts {
  readonly #byKey: Map<string, Attempt>
  readonly #byAddress: Map<string, Attempt[]>
  readonly #unanswered: Set<Attempt>

  constructor(all: readonly Attempt[]) {
    this.#byKey = new Map(all.map((one) => [one.locked.place.key, one]))
    this.#byAddress = Map.groupBy(all, ({ locked }) => locked.place.address)
    this.#unanswered = new Set(all)
  }

  /** Returns the attempts without a result. */
  get unanswered(): Attempt[] {
    return [...this.#unanswered]
  }

  /**
   * Returns the attempt that found a device. The addresses of the device are compared too, because most links report no
   * connection.
   */
  ofDevice({ mapped, connection }: ReportedDevice): Attempt | undefined {
    const attempt = this.#find(connection, addressesOf(mapped.asset))
    if (attempt !== undefined) this.#unanswered.delete(attempt)
    return attempt
  }

  /** Returns the attempt that an error belongs to. Returns undefined if the device of the attempt was already found. */
  ofError({ connection }: ReportedError): Attempt | undefined {
    const attempt = this.#find(connection, [])
    return attempt !== undefined && this.#unanswered.delete(attempt) ? attempt : undefined
  }

  #find(connection: ReportedError['connection'], addresses: readonly string[]): Attempt | undefined {
    const place = connection && locationOf(connection)
    const attempt = place && this.#byKey.get(place.key)
    return attempt ?? this.#at([place?.address ?? [], addresses].flat())
  }

  /**
   * Returns the attempt at one of these addresses. Several devices may share an address, so an attempt without a result
   * has priority.
   */
  #at(addresses: readonly string[]): Attempt | undefined {
    const there = addresses.flatMap((address) => this.#byAddress.get(address) ?? [])
    return there.find((one) => this.#unanswered.has(one)) ?? there[0]
  }
}

export function targetOf({ locked: { place }, credential }: Attempt): DeviceDestination {
  return destinationOf(place.connection, credential)
}
