import type { ConflictKey } from '../identity/identity-conflict-store.ts'
import type { Sender } from './write.ts'

/**
 * `GatewayScope` holds, for one batch, what decides which assets a gateway may write beyond its access groups. A write of a
 * gateway is an accepted write whose principal is a gateway: discovery queues it for the devices and links it reported.
 * - An asset with `found_by_gateway` to the gateway stays writable, also after a person moved it to another group.
 * - An asset that the platform manages (of a gateway, of an asset link) is never written by a discovered device.
 */
export class GatewayScope {
  readonly #found: ReadonlySet<string>
  readonly #managed: ReadonlySet<string>
  readonly #conflicts: ReadonlySet<string>

  constructor({
    found,
    managed,
    conflicts,
  }: { found: Iterable<ConflictKey>; managed: Iterable<string>; conflicts: Iterable<ConflictKey> }) {
    this.#found = new Set([...found].map(pairKey))
    this.#managed = new Set(managed)
    this.#conflicts = new Set([...conflicts].map(pairKey))
  }

  isFoundBy(assetId: string, gatewayId: string): boolean {
    return this.#found.has(pairKey({ assetId, gatewayId }))
  }

  isManaged(assetId: string): boolean {
    return this.#managed.has(assetId)
  }

  /** Returns whether an identity conflict between the asset and the gateway is stored. */
  isInConflict(assetId: string, gatewayId: string): boolean {
    return this.#conflicts.has(pairKey({ assetId, gatewayId }))
  }
}

function pairKey({ assetId, gatewayId }: ConflictKey): string {
  return assetId + gatewayId
}

export function isOfGateway({ principalKind }: Pick<Sender, 'principalKind'>): boolean {
  return principalKind === 'gateway'
}
