import type { ConflictKey } from '../identity/identity-conflict-store.ts'
import type { Sender } from './write.ts'

/**
 * `GatewayScope` contains, for one batch, the data that decides which assets gateways may write. A write of a gateway
 * is a queued write whose principal is a gateway. The discovery service queues it for the devices and links that the
 * gateway reported.
 * - A gateway may write an asset that has `found_by_gateway` to it, even after a user moved the asset to another group.
 * - A discovered device never changes an asset that the platform manages: the asset of a gateway or of an asset link.
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
