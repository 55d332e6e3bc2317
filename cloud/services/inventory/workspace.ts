import { keepAccessGroups } from '../../platform/access/store.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import type { EventRecord } from '../../platform/events/events.ts'
import { addressesOf } from './address.ts'
import { columnsOf } from './asset.ts'
import * as store from './asset-store.ts'
import { putSuspicions, type Suspicion } from './duplicate-store.ts'
import { recountFacets } from './facet-store.ts'
import { type GatewayScope, isOfGateway } from './gateway-scope.ts'
import { loadGatewayScope } from './gateway-scope-store.ts'
import { keyOf } from './identifier.ts'
import {
  type ConflictKey,
  deleteIdentityConflicts,
  type IdentityConflict,
  putIdentityConflicts,
} from './identity-conflict-store.ts'
import { insertMerges, type MergeRow, markUndone, moveIdentifiers } from './merge-store.ts'
import type { QueuedOperation } from './operation-store.ts'
import type { WriteSource } from './payload.ts'
import { groupsIn, idsIn, isDelete, isReshaping, keysIn } from './payload.ts'
import { type AuthoredRelation, type RelationRow, relationEvents, type StatedRelation } from './relation.ts'
import { endRelations, endRelationsOf, putRelations } from './relation-store.ts'
import { searchText } from './search.ts'
import { deleteWords, putWords } from './word-store.ts'

/** An asset while a batch is applied. */
export type WorkingAsset = {
  id: string
  accessGroupId: string
  version: number
  createdAt: string
  document: Record<string, unknown>
}

/** A relation to be stated, and where to say whether it was new. */
export type WorkingRelation = { subject: string; predicate: string; object: string; source: WriteSource; author: Actor }

type Actor = { principalId: string; principalName: string }
export type Change = {
  actor: Actor
  source: { type: string; value?: string | undefined }
  time: string
  /** The identifiers by which it was recognised. */
  matchedBy?: readonly Record<string, unknown>[]
}

/** An identifier and the asset that it belongs to from now on. */
export type IdentifierMove = { key: string; identifier: Record<string, unknown>; to: string }

type Loaded = {
  assets: readonly WorkingAsset[]
  keys: readonly store.KnownIdentifier[]
  groups: ReadonlySet<string>
  gatewayScope: GatewayScope
}

/**
 * What a batch of writes works on: loaded at once, changed in memory, saved at once. Every change is a step that can be
 * taken back, so that an operation that fails half-way leaves nothing.
 */
export class Workspace {
  readonly #assets: Map<string, WorkingAsset | undefined>
  readonly #keys: Map<string, { assetId: string; createdAt: string } | undefined>
  readonly #undo: (() => void)[] = []
  readonly stored: ReadonlySet<string>
  /** The access groups that operations name, as far as they are still there. */
  readonly groups: ReadonlySet<string>
  readonly gatewayScope: GatewayScope
  readonly touched = new Set<string>()
  readonly deleted = new Map<string, Change>()
  readonly identifiers: store.IdentifierRow[] = []
  readonly history: store.HistoryRow[] = []
  readonly events: EventRecord[] = []
  readonly counts = new Map<string, number>()
  readonly relations: { relation: WorkingRelation; report: { outcome: string } }[] = []
  readonly suspicions: Suspicion[] = []
  readonly identityConflicts: IdentityConflict[] = []
  readonly resolvedConflicts: ConflictKey[] = []
  readonly moves: IdentifierMove[] = []
  readonly restated: { relations: readonly AuthoredRelation[]; time: string }[] = []
  readonly ended: { ids: readonly string[]; change: Change }[] = []
  readonly merges: MergeRow[] = []
  readonly undone: { id: string; time: string }[] = []

  constructor({ assets, keys, groups, gatewayScope }: Loaded) {
    this.groups = groups
    this.gatewayScope = gatewayScope
    this.#assets = new Map(assets.map((asset) => [asset.id, asset]))
    this.#keys = new Map(keys.map(({ key, assetId, createdAt }) => [key, { assetId, createdAt }]))
    this.stored = new Set(this.#assets.keys())
  }

  asset(id: string): WorkingAsset | undefined {
    return this.#assets.get(id)
  }

  ownerOf(key: string): { assetId: string; createdAt: string } | undefined {
    return this.#keys.get(key)
  }

  mark(): number {
    return this.#undo.length
  }

  undoTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()?.()
  }

  /** Creates or changes an asset. */
  put(asset: WorkingAsset, change: Change): void {
    const before = this.#assets.get(asset.id)
    this.#assets.set(asset.id, asset)
    this.#step(() => this.#assets.set(asset.id, before))
    this.#add(this.touched, asset.id)
    this.#count(asset.accessGroupId, 1)
    if (before !== undefined) this.#count(before.accessGroupId, -1)
    this.#note(asset, before === undefined ? 'created' : 'updated', change)
    if (before !== undefined && before.accessGroupId !== asset.accessGroupId) {
      // Whoever reads the old group only is told that it left, and nothing else.
      const data = { id: asset.id, accessGroupId: before.accessGroupId, version: asset.version }
      this.#push(this.events, { type: 'inventory.asset.left', subject: `asset/${asset.id}`, data })
    }
  }

  remove(asset: WorkingAsset, change: Change): void {
    this.#assets.set(asset.id, undefined)
    this.#step(() => this.#assets.set(asset.id, asset))
    for (const [key, owner] of this.#keys) {
      if (owner?.assetId !== asset.id) continue
      this.#keys.set(key, undefined)
      this.#step(() => this.#keys.set(key, owner))
    }
    this.deleted.set(asset.id, change)
    this.#step(() => this.deleted.delete(asset.id))
    this.#count(asset.accessGroupId, -1)
    this.#note({ ...asset, version: asset.version + 1 }, 'deleted', change)
  }

  identify(row: store.IdentifierRow, createdAt: string): void {
    this.#keys.set(row.key, { assetId: row.assetId, createdAt })
    this.#step(() => this.#keys.set(row.key, undefined))
    this.#push(this.identifiers, row)
  }

  relate(relation: WorkingRelation, report: { outcome: string }): void {
    this.#push(this.relations, { relation, report })
  }

  suspect(suspicion: Suspicion): void {
    this.#push(this.suspicions, suspicion)
  }

  recordIdentityConflict(conflict: IdentityConflict): void {
    this.#push(this.identityConflicts, conflict)
  }

  resolveIdentityConflict(key: ConflictKey): void {
    this.#push(this.resolvedConflicts, key)
  }

  /** Identifiers that change their asset. Who looks them up by key in the same batch does not see it. */
  move(move: IdentifierMove): void {
    this.#push(this.moves, move)
  }

  /** Relations between whatever there is, also nodes. */
  restate(relations: readonly StatedRelation[], { actor, time }: Pick<Change, 'actor' | 'time'>): void {
    this.#push(this.restated, { relations: relations.map((relation) => ({ ...relation, author: actor })), time })
  }

  end(ids: readonly string[], change: Change): void {
    this.#push(this.ended, { ids, change })
  }

  merged(merge: MergeRow): void {
    this.#push(this.merges, merge)
  }

  undoMerge(id: string, time: string): void {
    this.#push(this.undone, { id, time })
  }

  /** What came of it while it is saved, which nobody takes back. There may be more than a call takes arguments. */
  tell(events: readonly EventRecord[]): void {
    for (const event of events) this.events.push(event)
  }

  #note(
    asset: WorkingAsset,
    change: 'created' | 'updated' | 'deleted',
    { actor, source, time, matchedBy }: Change,
  ): void {
    this.#push(this.history, {
      assetId: asset.id,
      version: asset.version,
      time,
      change,
      accessGroupId: asset.accessGroupId,
      principalId: actor.principalId,
      principalName: actor.principalName,
      sourceType: source.type,
      sourceValue: source.value ?? null,
      document: change === 'deleted' ? null : jsonText(asset.document),
      matchedBy: matchedBy === undefined ? null : jsonText(matchedBy),
    })
    const { name, functional_object_type: type } = asset.document
    this.#push(this.events, {
      type: `inventory.asset.${change}`,
      subject: `asset/${asset.id}`,
      data: {
        id: asset.id,
        accessGroupId: asset.accessGroupId,
        version: asset.version,
        name: name ?? null,
        type,
        source,
      },
    })
  }

  #count(accessGroupId: string, change: number): void {
    const before = this.counts.get(accessGroupId) ?? 0
    this.counts.set(accessGroupId, before + change)
    this.#step(() => this.counts.set(accessGroupId, before))
  }

  #push<Row>(rows: Row[], row: Row): void {
    rows.push(row)
    this.#step(() => rows.pop())
  }

  #add(set: Set<string>, id: string): void {
    if (set.has(id)) return
    set.add(id)
    this.#step(() => set.delete(id))
  }

  #step(undo: () => void): void {
    this.#undo.push(undo)
  }
}

/** Somebody is just relating assets of which all relations must be known. */
export class StillRelated extends Error {}

/** What ends relations, or looks at them as they are, must know them all: unless relating has stopped, that may fail. */
export async function loadWorkspace(
  tx: Transaction,
  operations: readonly QueuedOperation[],
  { relatingStopped }: { relatingStopped: boolean },
): Promise<Workspace> {
  const [groups, keys] = await Promise.all([
    keepAccessGroups(tx, [...new Set(operations.flatMap(groupsIn))]),
    store.findByKeys(tx, [...new Set(operations.flatMap(keysIn))]),
  ])
  const gatewayIds = [...new Set(operations.filter(isOfGateway).map(({ principalId }) => principalId))]
  const matched = [...new Set(keys.map(({ assetId }) => assetId))]
  const ids = [...new Set([...matched, ...operations.flatMap(idsIn), ...gatewayIds])]
  const assets = await store.lockAssets(tx, ids)
  const gatewayScope = await loadGatewayScope(tx, { gatewayIds, assetIds: matched })
  const unrelated = new Set(operations.some(isReshaping) ? ids : operations.filter(isDelete).flatMap(idsIn))
  const there = assets.filter(({ id }) => unrelated.has(id)).map(({ id }) => id)
  const held = await store.holdAssets(tx, there, { onlyFree: !relatingStopped })
  if (held < there.length) throw new StillRelated()
  const working = assets.map((asset) => ({ ...asset, document: JSON.parse(asset.document) }))
  return new Workspace({ assets: working, keys, groups, gatewayScope })
}

/** Writes what the batch came to, table by table. */
export async function saveWorkspace(tx: Transaction, workspace: Workspace): Promise<void> {
  const gone = deletedIn(workspace)
  await endChosen(tx, workspace)
  const assets = [...workspace.touched].flatMap((id) => workspace.asset(id) ?? [])
  const known = assets.filter(({ id }) => workspace.stored.has(id)).map(({ id }) => id)
  const rows = workspace.identifiers.filter(({ assetId }) => workspace.asset(assetId) !== undefined)
  const identifiers = identifiersAfter(workspace, { before: await store.identifiersOf(tx, known), added: rows })
  // The last version of each is printed already.
  const printed = new Map(workspace.history.map(({ assetId, document }) => [assetId, document]))
  const rowsOf = (some: readonly WorkingAsset[]) =>
    some.map((asset) => ({ ...rowOf(asset), document: printed.get(asset.id) ?? jsonText(asset.document) }))
  const fresh = rowsOf(assets.filter(({ id }) => !workspace.stored.has(id)))
  const changed = rowsOf(assets.filter(({ id }) => workspace.stored.has(id)))
  const texts = () => assets.map(({ id, document }) => ({ id, text: searchText(document, identifiers(id)) }))
  const suspicions = workspace.suspicions.filter(({ assetId, otherId }) => bothThere(workspace, assetId, otherId))
  const conflicts = workspace.identityConflicts.filter(({ assetId, gatewayId }) =>
    bothThere(workspace, assetId, gatewayId),
  )
  // Identifiers move between the assets that come and those that go: what they go to must be there, and what they come
  // from takes along what it still has.
  await tx.inTurn([
    () => recountFacets(tx, { kept: [...known, ...gone], coming: [...fresh, ...changed] }),
    () => store.putAssets(tx, { fresh, changed }),
    () => putWords(tx, texts()),
    () => deleteWords(tx, gone),
    () => moveIdentifiers(tx, workspace.moves),
    () => store.deleteAssets(tx, gone),
    () => store.insertIdentifiers(tx, rows),
    () => store.replaceAddresses(tx, { known, rows: assets.flatMap(addressRows) }),
    () => store.replacePropertyValues(tx, { known, rows: assets.flatMap(propertyRows) }),
    () => store.insertHistory(tx, workspace.history),
    () => store.changeCounts(tx, workspace.counts),
    () => putSuspicions(tx, suspicions),
    () => putIdentityConflicts(tx, conflicts),
    () => deleteIdentityConflicts(tx, workspace.resolvedConflicts),
    () => insertMerges(tx, workspace.merges),
    () => markUndone(tx, workspace.undone),
  ])
  await relateAll(tx, workspace)
  await restateAll(tx, workspace)
}

function addressRows({ id, document }: WorkingAsset) {
  return addressesOf(document).map((address) => ({ assetId: id, ...address }))
}

function bothThere(workspace: Workspace, one: string, other: string): boolean {
  return workspace.asset(one) !== undefined && workspace.asset(other) !== undefined
}

type Identifiers = {
  before: ReadonlyMap<string, readonly Record<string, unknown>[]>
  added: readonly store.IdentifierRow[]
}

/** The identifiers that an asset has once everything is saved. */
function identifiersAfter({ moves }: Workspace, { before, added }: Identifiers) {
  const moved = new Set(moves.map(({ key }) => key))
  const fresh = Map.groupBy(
    [...added.map(({ assetId, identifier }) => ({ to: assetId, identifier })), ...moves],
    ({ to }) => to,
  )
  return (id: string): Record<string, unknown>[] => {
    const own = before.get(id) ?? []
    const left = moved.size === 0 ? own : own.filter((identifier) => !moved.has(keyOf(identifier)))
    return [...left, ...(fresh.get(id) ?? []).map(({ identifier }) => identifier)]
  }
}

/** Once the assets are there. A relation that is stated twice in a batch is stated once, by the first. */
async function relateAll(tx: Transaction, workspace: Workspace): Promise<void> {
  const { wanted = [], gone = [] } = Object.groupBy(workspace.relations, ({ relation: { subject, object } }) =>
    bothThere(workspace, subject, object) ? 'wanted' : 'gone',
  )
  // Whoever was deleted right after took it along.
  for (const { report } of gone) report.outcome = 'created'
  const keyOf = ({ subject, predicate, object, source }: WorkingRelation) =>
    JSON.stringify([subject, predicate, object, source.type])
  const once = new Map<string, WorkingRelation>()
  for (const { relation } of wanted) {
    const key = keyOf(relation)
    once.set(key, { ...relation, author: once.get(key)?.author ?? relation.author })
  }
  if (once.size === 0) return
  const put = await putRelations(
    tx,
    [...once.values()].map(({ subject, predicate, object, source, author }) => ({
      subject: { type: 'asset', id: subject },
      predicate,
      object: { type: 'asset', id: object },
      source,
      author,
    })),
  )
  const created = new Set([...once.keys()].filter((_, index) => put[index]?.outcome === 'created'))
  // Who says it again finds it there; of two directions, one that is new is enough.
  for (const { relation, report } of wanted) if (created.delete(keyOf(relation))) report.outcome = 'created'
  tellCreated(workspace, put)
}

async function restateAll(tx: Transaction, workspace: Workspace): Promise<void> {
  for (const { relations, time } of workspace.restated) {
    tellCreated(workspace, await putRelations(tx, relations, time))
  }
}

function tellCreated(workspace: Workspace, put: readonly { relation: RelationRow; outcome: string }[]): void {
  const created = put.filter(({ outcome }) => outcome === 'created').map(({ relation }) => relation)
  workspace.tell(relationEvents('created', created))
}

/** The assets that do not exist any more after the batch. */
export function deletedIn(workspace: Workspace): string[] {
  return [...workspace.deleted.keys()].filter((id) => workspace.asset(id) === undefined)
}

/**
 * Ends the relations of the assets that go, at most so many: answers them, and whether none are left. The rows of the
 * assets are held, so nobody can relate them to anything meanwhile. Those of a merge end all at its time, by which they
 * are found when it is undone.
 */
export async function endOfGone(
  tx: Transaction,
  workspace: Workspace,
  most: number,
): Promise<{ ended: RelationRow[]; isAll: boolean }> {
  const isMerge = workspace.merges.length > 0
  const byActor = Map.groupBy(deletedIn(workspace), (id) => workspace.deleted.get(id)?.actor.principalId)
  const ended: RelationRow[][] = []
  let left = most
  for (const ids of byActor.values()) {
    const change = workspace.deleted.get(ids[0] ?? '')
    if (change === undefined || left === 0) continue
    const some = await endRelationsOf(tx, ids, { ...endingBy(change), most: isMerge ? undefined : left })
    ended.push(some)
    left -= some.length
  }
  return { ended: ended.flat(), isAll: isMerge || left > 0 }
}

async function endChosen(tx: Transaction, workspace: Workspace): Promise<void> {
  for (const { ids, change } of workspace.ended) {
    workspace.tell(relationEvents('deleted', await endRelations(tx, ids, endingBy(change))))
  }
}

function endingBy({ actor, time }: Change) {
  return { principalId: actor.principalId, principalName: actor.principalName, at: time }
}

function propertyRows({ id, document }: WorkingAsset): store.PropertyRow[] {
  const values = (document.custom_properties ?? []) as { key: string; value: string }[]
  return values.map(({ key, value }) => ({ assetId: id, key, value }))
}

function rowOf(asset: WorkingAsset): Omit<store.AssetRow, 'document'> {
  return {
    ...columnsOf(asset.document),
    id: asset.id,
    access_group_id: asset.accessGroupId,
    version: asset.version,
    created_at: asset.createdAt,
    modified_at: String(asset.document.last_modified_timestamp),
  }
}
