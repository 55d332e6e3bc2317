import { type DeviceDestination, destinationOf } from '../device-info/device-info.ts'
import type { Credential } from '../job-credentials.ts'
import type { Mapped } from '../mapping/asset.ts'
import { addressesOf } from './device-address.ts'
import type { FoundError } from './device-error.ts'
import { type Locked, placeOf } from './locked.ts'
import type { FoundDevice } from './scan.ts'

/** One device with the credentials that are tried on it. */
export type Try = { locked: Locked; credential: Credential }

/**
 * Whether a device is the one at the address where it was asked, and not one behind it: modules are reached through the
 * device that they are in.
 */
export function isAt(address: string, { asset }: Mapped, { isAlone }: { isAlone: boolean }): boolean {
  return isAlone || addressesOf(asset).includes(address)
}

/** Which answer of a link belongs to which device: by the connection that it names, else by its address. */
export class Tries {
  readonly #byKey: Map<string, Try>
  readonly #byAddress: Map<string, Try[]>
  readonly #unanswered: Set<Try>

  constructor(all: readonly Try[]) {
    this.#byKey = new Map(all.map((one) => [one.locked.place.key, one]))
    this.#byAddress = Map.groupBy(all, ({ locked }) => locked.place.address)
    this.#unanswered = new Set(all)
  }

  /** Those of which the link has said nothing yet. */
  get unanswered(): Try[] {
    return [...this.#unanswered]
  }

  /** The one that a device was found with; links of today do not say where a device is but in what it tells itself. */
  ofDevice({ mapped, connection }: FoundDevice): Try | undefined {
    const found = this.#find(connection, addressesOf(mapped.asset))
    if (found !== undefined) this.#unanswered.delete(found)
    return found
  }

  /** One that has answered before is not refused afterwards. */
  ofError({ connection }: FoundError): Try | undefined {
    const found = this.#find(connection, [])
    return found !== undefined && this.#unanswered.delete(found) ? found : undefined
  }

  #find(connection: FoundError['connection'], addresses: readonly string[]): Try | undefined {
    const place = connection && placeOf(connection)
    const known = place && this.#byKey.get(place.key)
    return known ?? this.#at([place?.address ?? [], addresses].flat())
  }

  /** Several devices may share an address: one that is still waited for comes first. */
  #at(addresses: readonly string[]): Try | undefined {
    const there = addresses.flatMap((address) => this.#byAddress.get(address) ?? [])
    return there.find((one) => this.#unanswered.has(one)) ?? there[0]
  }
}

export function targetOf({ locked: { place }, credential }: Try): DeviceDestination {
  return destinationOf(place.connection, credential)
}
