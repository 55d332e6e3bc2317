import { lockAccessGroups } from '../../../platform/access/store.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import * as store from '../assets/asset-store.ts'
import { findPendingRelations, type PendingRelation } from '../relations/pending-relation-store.ts'
import { addChange, type Change, type ChangeSet, emptyChangeSet, type WorkingAsset } from './change-set.ts'
import { type GatewayScope, isOfGateway } from './gateway-scope.ts'
import { loadGatewayScope } from './gateway-scope-store.ts'
import type { Needs, Sender } from './write.ts'

/** The asset to which an identifier belongs. */
type Owner = { assetId: string; createdAt: string }

type LoadedRows = {
  assets: readonly WorkingAsset[]
  keys: readonly store.IdentifierOwner[]
  accessGroups: ReadonlySet<string>
  gatewayScope: GatewayScope
  pendingRelations: readonly PendingRelation[]
}

/**
 * `Batch` is the state that the writes of one transaction read. It contains the rows that were loaded for all of these
 * writes, with the changes of the earlier writes. `add` adds the changes of a write that succeeded.
 */
export class Batch {
  readonly #assets: Map<string, WorkingAsset | undefined>
  readonly #owners: Map<string, Owner | undefined>
  readonly #pending = new Map<string, PendingRelation[]>()
  /** The reports of links about the assets, as they are in the database. */
  readonly #storedSources: ReadonlyMap<string, string | null>
  /** The assets that exist in the database. */
  readonly stored: ReadonlySet<string>
  /** The access groups that the writes name and that still exist. */
  readonly accessGroups: ReadonlySet<string>
  readonly gatewayScope: GatewayScope
  readonly changes: ChangeSet = emptyChangeSet()

  constructor({ assets, keys, accessGroups, gatewayScope, pendingRelations }: LoadedRows) {
    this.accessGroups = accessGroups
    this.gatewayScope = gatewayScope
    this.#assets = new Map(assets.map((asset) => [asset.id, asset]))
    this.#owners = new Map(keys.map(({ key, assetId, createdAt }) => [key, { assetId, createdAt }]))
    this.stored = new Set(this.#assets.keys())
    this.#storedSources = new Map(assets.map(({ id, sources }) => [id, sources]))
    this.#addPending(pendingRelations)
  }

  asset(id: string): WorkingAsset | undefined {
    return this.#assets.get(id)
  }

  /** Returns whether the reports of links about an asset are the same as in the database. */
  hasStoredSources({ id, sources }: Pick<WorkingAsset, 'id' | 'sources'>): boolean {
    return this.#storedSources.get(id) === sources
  }

  /**
   * Returns the owner of an identifier. An identifier that moves between assets keeps its old owner here. No other write
   * reads that owner, because a write that moves identifiers is applied alone.
   */
  ownerOf(key: string): Owner | undefined {
    return this.#owners.get(key)
  }

  /** Returns the relations that wait for a device with this identifier. */
  pendingRelationsOf(key: string): readonly PendingRelation[] {
    return this.#pending.get(key) ?? []
  }

  /** The assets that are deleted when the batch is saved. */
  get deletedIds(): string[] {
    return [...this.changes.deleted.keys()]
  }

  add(changes: readonly Change[]): void {
    for (const change of changes) {
      const before = change.type === 'put asset' ? this.#assets.get(change.asset.id) : undefined
      addChange(this.changes, change, before)
      if (change.type === 'put asset' || change.type === 'put sources') this.#assets.set(change.asset.id, change.asset)
      else if (change.type === 'delete asset') this.#delete(change.asset.id)
      else if (change.type === 'add identifier') {
        const { key, assetId } = change.row
        this.#owners.set(key, { assetId, createdAt: change.assetCreatedAt })
      } else if (change.type === 'replace pending relations') this.#addPending(change.relations)
    }
  }

  #addPending(relations: readonly PendingRelation[]): void {
    for (const relation of relations) {
      const others = this.#pending.get(relation.key) ?? []
      this.#pending.set(relation.key, [...others, relation])
    }
  }

  #delete(id: string): void {
    this.#assets.set(id, undefined)
    for (const [key, owner] of this.#owners) if (owner?.assetId === id) this.#owners.set(key, undefined)
  }
}

/** The sender of a write and the rows that the write reads. */
type Loaded = { sender: Sender; needs: Needs }

type LoadOptions = {
  /**
   * Whether a lock prevents other transactions of the tenant from writing relations. If it does, no asset is skipped when
   * assets are locked.
   */
  relationsLocked: boolean
  /** The changes of the previous batch, which is not committed yet. */
  uncommitted?: ChangeSet | undefined
}

/**
 * Loads and locks the rows that the writes need. Returns `undefined` if a write needs all relations of an asset while
 * another transaction writes relations of this asset. The caller then locks the relations of the tenant and loads
 * again.
 */
export async function loadBatch(
  tx: Transaction,
  writes: readonly Loaded[],
  { relationsLocked, uncommitted }: LoadOptions,
): Promise<Batch | undefined> {
  const needs = writes.map((write) => write.needs)
  const neededKeys = new Set(needs.flatMap((need) => need.keys))
  const senders = writes.map(({ sender }) => sender)
  const gatewayIds = [...new Set(senders.filter(isOfGateway).map(({ principalId }) => principalId))]
  const [accessGroups, storedKeys, pendingRelations] = await Promise.all([
    lockAccessGroups(tx, [...new Set(needs.flatMap(({ accessGroupIds }) => accessGroupIds))]),
    store.findByKeys(tx, [...neededKeys]),
    findPendingRelations(tx, { gatewayIds, keys: [...neededKeys] }),
  ])
  const keys = [...storedKeys, ...uncommittedOwners(uncommitted).filter(({ key }) => neededKeys.has(key))]
  const matched = [...new Set([...keys, ...pendingRelations].map(({ assetId }) => assetId))]
  const named = needs.flatMap(({ assetIds }) => assetIds)
  const neededIds = [...new Set([...matched, ...named, ...gatewayIds])]
  const isUncommitted = (id: string) => uncommitted?.assets.has(id) ?? false
  // The assets of the previous batch are not locked here. That batch holds their locks and is committed before this
  // batch is saved.
  const assets = await store.lockAssets(
    tx,
    neededIds.filter((id) => !isUncommitted(id)),
  )
  const gatewayScope = await loadGatewayScope(tx, { gatewayIds, assetIds: matched })
  const held = assetsToHold(needs, keys)
  const existing = assets.filter(({ id }) => held.has(id)).map(({ id }) => id)
  if ((await store.lockAssetsExclusively(tx, existing, { onlyFree: !relationsLocked })) < existing.length)
    return undefined
  const working = assets.map((asset): WorkingAsset => ({ ...asset, document: JSON.parse(asset.document) }))
  const changed = neededIds.flatMap((id) => uncommitted?.assets.get(id) ?? [])
  return new Batch({ assets: [...working, ...changed], keys, accessGroups, gatewayScope, pendingRelations })
}

/** Returns the owners of the identifiers that the previous batch adds. */
function uncommittedOwners(changes: ChangeSet | undefined): store.IdentifierOwner[] {
  return (changes?.identifiers ?? []).map(({ key, assetId, createdAt }) => ({
    key,
    assetId,
    createdAt: changes?.assets.get(assetId)?.createdAt ?? createdAt,
  }))
}

/** Returns the assets whose relations must not change until the batch is saved. */
function assetsToHold(needs: readonly Needs[], keys: readonly store.IdentifierOwner[]): ReadonlySet<string> {
  const held = needs.filter(({ allRelations }) => allRelations)
  const heldKeys = new Set(held.flatMap((need) => need.keys))
  const matched = keys.filter(({ key }) => heldKeys.has(key)).map(({ assetId }) => assetId)
  return new Set([...held.flatMap(({ assetIds }) => assetIds), ...matched])
}
