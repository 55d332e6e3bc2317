import type { Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { createYield, priorities } from '../../../platform/event-loop.ts'
import { addressesOf } from '../assets/address.ts'
import { columnsOf } from '../assets/asset.ts'
import * as store from '../assets/asset-store.ts'
import { putSuspicions } from '../identity/duplicate-store.ts'
import { keyOf } from '../identity/identifier.ts'
import { deleteIdentityConflicts, putIdentityConflicts } from '../identity/identity-conflict-store.ts'
import { insertMerges, markUndone, moveIdentifiers } from '../identity/merge-store.ts'
import {
  deletePendingRelations,
  deleteReportedRelations,
  pendingKey,
  putPendingRelations,
} from '../relations/pending-relation-store.ts'
import { type RelationRow, relationEvents } from '../relations/relation.ts'
import { endRelations, endRelationsOf, putRelations } from '../relations/relation-store.ts'
import { recountFacets } from '../search/facet-store.ts'
import { deleteTokens, putTokens } from '../search/search-index-store.ts'
import { searchLines } from '../search/search-tokens.ts'
import type { Batch } from './batch.ts'
import type { Cause, ChangeSet, RelationChange, WorkingAsset } from './change-set.ts'

/**
 * The number of rows in one statement. While the database executes a statement, this process builds the next one. Between
 * two statements the event loop serves other requests. A statement of 1,000 assets would block these requests for 100 ms.
 */
const rowsPerStatement = 100

type Step = () => Promise<unknown>

type SaveOptions = {
  rows: readonly store.AssetRow[]
  /** The last steps of the transaction. They run when the results and the events of all relations are known. */
  last: readonly Step[]
}

/**
 * Writes the changes of a batch, table by table, and runs the last steps of the transaction. Adds the events of ended and
 * created relations to the change set. `rows` contains the rows from `assetRows`.
 */
export async function save(tx: Transaction, batch: Batch, { rows, last }: SaveOptions): Promise<void> {
  const { changes } = batch
  await endChosenRelations(tx, changes)
  const steps = await stepsOf(tx, batch, rows)
  // Without relations, the database gets the last steps without waiting for the response to the steps before.
  if (changes.relations.length === 0) return tx.pipeline(flatten([steps, last]))
  await tx.pipeline(steps)
  await writeRelations(tx, changes)
  await tx.pipeline(last)
}

/**
 * Returns the rows of the assets that a batch creates or changes. They depend on the change set only, so they can be
 * computed before the batch is saved.
 */
export async function assetRows({ tenantId }: Pick<Transaction, 'tenantId'>, batch: Batch): Promise<store.AssetRow[]> {
  const { changes } = batch
  const printed = new Map(changes.history.map(({ assetId, document }) => [assetId, document]))
  const yieldTurn = createYield(tenantId, { priority: priorities.decision })
  const rows: store.AssetRow[] = []
  for (const asset of changes.assets.values()) {
    await yieldTurn()
    const row = rowOf(asset, printed.get(asset.id))
    rows.push(batch.hasStoredSources(asset) ? { ...row, field_sources: undefined } : row)
  }
  return rows
}

/**
 * Returns the statements of a batch in their order. Identifiers can move to assets that are created and from assets that
 * are deleted. The new owner must exist before the move. The old owner is deleted after the move, with its remaining
 * identifiers.
 */
async function stepsOf(
  tx: Transaction,
  { changes, stored, deletedIds }: Batch,
  rows: readonly store.AssetRow[],
): Promise<Iterable<Step>> {
  const assets = [...changes.assets.values()]
  const updatedIds = assets.filter(({ id }) => stored.has(id)).map(({ id }) => id)
  const added = changes.identifiers.filter(({ assetId }) => !changes.deleted.has(assetId))
  const identifiersOf = identifiersAfter(changes, { before: await store.identifiersOf(tx, updatedIds), added })
  const isDeleted = (...ids: readonly string[]) => ids.some((id) => changes.deleted.has(id))
  return flatten([
    [() => recountFacets(tx, { stored: [...updatedIds, ...deletedIds], written: rows })],
    portions(rows, (some) => store.putAssets(tx, byExistence(some, stored))),
    portions(
      [...changes.sources].map(([id, sources]) => ({ id, sources })),
      (some) => store.putSources(tx, some),
    ),
    portions(assets, (some) => {
      const texts = some.map(({ id, document }) => ({ id, lines: searchLines(document, identifiersOf(id)) }))
      return putTokens(tx, byExistence(texts, stored))
    }),
    [
      () => deleteTokens(tx, deletedIds),
      () => moveIdentifiers(tx, changes.identifierMoves),
      () => store.deleteAssets(tx, deletedIds),
    ],
    portions(added, (some) => store.insertIdentifiers(tx, some)),
    [() => store.deleteAddresses(tx, updatedIds), () => store.deletePropertyValues(tx, updatedIds)],
    portions(assets, (some) => store.insertAddresses(tx, some.flatMap(addressRows))),
    portions(assets, (some) => store.insertPropertyValues(tx, some.flatMap(propertyRows))),
    portions(changes.history, (some) => store.insertHistory(tx, some.map(withoutStoredDocument(changes)))),
    [
      () => store.changeCounts(tx, changes.counts),
      () =>
        putSuspicions(
          tx,
          changes.suspicions.filter(({ assetId, otherId }) => !isDeleted(assetId, otherId)),
        ),
      () =>
        putIdentityConflicts(
          tx,
          changes.identityConflicts.filter(({ assetId, gatewayId }) => !isDeleted(assetId, gatewayId)),
        ),
      () => deleteIdentityConflicts(tx, changes.resolvedConflicts),
      () => deleteReportedRelations(tx, changes.reportedPredicates),
      () => deletePendingRelations(tx, changes.resolvedRelations),
      () => putPendingRelations(tx, stillPending(changes)),
      () => insertMerges(tx, changes.merges),
      () => markUndone(tx, changes.undoneMerges),
    ],
  ])
}

/** Returns the pending relations that no later write of the batch has written, and whose assets exist. */
function stillPending({ pendingRelations, resolvedRelations, deleted }: ChangeSet) {
  const resolved = new Set(resolvedRelations.map(pendingKey))
  return pendingRelations.filter(
    (one) => !resolved.has(pendingKey(one)) && !deleted.has(one.assetId) && !deleted.has(one.gatewayId),
  )
}

function* flatten(groups: readonly Iterable<Step>[]): Iterable<Step> {
  for (const group of groups) yield* group
}

/** Returns one step for each portion of the rows. The statement of a step is built when the step runs. */
function* portions<Row>(rows: readonly Row[], write: (some: readonly Row[]) => Promise<unknown>): Iterable<Step> {
  for (let from = 0; from < rows.length; from += rowsPerStatement)
    yield () => write(rows.slice(from, from + rowsPerStatement))
}

/** Returns a function that removes the document of a history entry, if the asset is saved with the same document. */
function withoutStoredDocument({ assets }: ChangeSet): (row: store.HistoryRow) => store.HistoryRow {
  return (row) => (assets.get(row.assetId)?.version === row.version ? { ...row, document: null } : row)
}

/** Separates the rows of new assets from the rows of assets that exist in the database. */
function byExistence<Row extends { id: string }>(rows: readonly Row[], stored: ReadonlySet<string>) {
  const { created = [], changed = [] } = Object.groupBy(rows, ({ id }) => (stored.has(id) ? 'changed' : 'created'))
  return { created, changed }
}

/**
 * Returns the row of an asset. The JSON text of the document is taken from the history entry of the asset, if there is one.
 */
function rowOf(asset: WorkingAsset, printed: string | null | undefined): store.AssetRow {
  return {
    ...columnsOf(asset.document),
    id: asset.id,
    access_group_id: asset.accessGroupId,
    version: asset.version,
    created_at: asset.createdAt,
    modified_at: String(asset.document.last_modified_timestamp),
    document: printed ?? jsonText(asset.document),
    field_sources: asset.sources,
    found_run_id: asset.foundRunId ?? null,
  }
}

function addressRows({ id, document }: WorkingAsset) {
  return addressesOf(document).map((address) => ({ assetId: id, ...address }))
}

function propertyRows({ id, document }: WorkingAsset): store.PropertyRow[] {
  const values = (document.custom_properties ?? []) as { key: string; value: string }[]
  return values.map(({ key, value }) => ({ assetId: id, key, value }))
}

type Identifiers = {
  before: ReadonlyMap<string, readonly Record<string, unknown>[]>
  added: readonly store.IdentifierRow[]
}

/** Returns a function that returns the identifiers of an asset after the batch is saved. */
function identifiersAfter({ identifierMoves: moves }: ChangeSet, { before, added }: Identifiers) {
  const moved = new Set(moves.map(({ key }) => key))
  const arriving = Map.groupBy(
    [...added.map(({ assetId, identifier }) => ({ to: assetId, identifier })), ...moves],
    ({ to }) => to,
  )
  return (id: string): Record<string, unknown>[] => {
    const own = before.get(id) ?? []
    const staying = moved.size === 0 ? own : own.filter((identifier) => !moved.has(keyOf(identifier)))
    return [...staying, ...(arriving.get(id) ?? []).map(({ identifier }) => identifier)]
  }
}

/** Writes the relations of the batch after its assets. */
async function writeRelations(tx: Transaction, { relations, deleted, events }: ChangeSet): Promise<void> {
  const isEnded = ({ relation: { subject, object } }: RelationChange) =>
    deleted.has(subject.id) || deleted.has(object.id)
  const { ended = [], current = [] } = Object.groupBy(relations, (one) => (isEnded(one) ? 'ended' : 'current'))
  // A later write of the batch deletes one of the assets, so the relation is not stored. The write of the relation
  // still reports the relation as created.
  for (const { report } of ended) if (report !== undefined) report.outcome = 'created'
  for (const [time, some] of Map.groupBy(current, (change) => change.time)) {
    const written = await putRelations(
      tx,
      some.map(({ relation }) => relation),
      time,
    )
    const created = written.flatMap(({ relation, outcome }, index) => {
      const { report } = some[index] ?? {}
      if (outcome !== 'created') return []
      // A bidirectional relation counts as created if at least one of its two directions is new.
      if (report !== undefined) report.outcome = 'created'
      return relation
    })
    addEvents(events, relationEvents('created', created))
  }
}

/** Ends the relations that writes of the batch have selected. */
async function endChosenRelations(tx: Transaction, { endedRelations, events }: ChangeSet): Promise<void> {
  for (const { ids, cause } of endedRelations) {
    addEvents(events, relationEvents('deleted', await endRelations(tx, ids, endedBy(cause))))
  }
}

/** Adds the events one at a time, because there may be more events than a function call accepts as arguments. */
function addEvents(events: ChangeSet['events'], added: ChangeSet['events']): void {
  for (const event of added) events.push(event)
}

/**
 * Ends at most `limit` relations of the deleted assets. Returns these relations and whether no relation is left. The rows
 * of the assets are locked, so no relation can be added meanwhile. A merge ends all relations at its own time, because
 * undoing the merge finds them by that time.
 */
export async function endRelationsOfDeleted(
  tx: Transaction,
  { changes, deletedIds }: Batch,
  limit: number,
): Promise<{ ended: RelationRow[]; isComplete: boolean }> {
  const isMerge = changes.merges.length > 0
  const byActor = Map.groupBy(deletedIds, (id) => changes.deleted.get(id)?.actor.principalId)
  const ended: RelationRow[][] = []
  let left = limit
  for (const ids of byActor.values()) {
    const cause = changes.deleted.get(ids[0] ?? '')
    if (cause === undefined || left === 0) continue
    const some = await endRelationsOf(tx, ids, { ...endedBy(cause), limit: isMerge ? undefined : left })
    ended.push(some)
    left -= some.length
  }
  return { ended: ended.flat(), isComplete: isMerge || left > 0 }
}

function endedBy({ actor, time }: Cause) {
  return { principalId: actor.principalId, principalName: actor.principalName, at: time }
}
