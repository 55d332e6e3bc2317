import type { ItemErrors } from '@millwright/api/contract.ts'
import { assignmentPredicate } from '@millwright/api/hierarchy.ts'
import type { RelationBatchResult, RelationBody } from '@millwright/api/inventory/relations.ts'
import { inventoryLimits } from '@millwright/api/inventory/shapes.ts'
import type { Permission } from '@millwright/api/permission.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../../platform/access/permission-denied.ts'
import { mayIn } from '../../../platform/access/rights.ts'
import { record, recordAll } from '../../../platform/audit/audit.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { isContention, isTransient } from '../../../platform/database/transient.ts'
import { type CoalescedWrite, WriteCoalescer } from '../../../platform/database/write-coalescer.ts'
import { type EventRecord, emitAll, emitLast } from '../../../platform/events/events.ts'
import { fieldProblem } from '../../../platform/field-problem.ts'
import { readableGroups } from '../visibility.ts'
import { listNodesOf } from './node-assignment-store.ts'
import { assetsOf, authorOf, isReserved, relationDetail, relationEvents, triplesOf } from './relation.ts'
import { lockAssets, lockFreeAssets, type PutRelation, putRelations } from './relation-store.ts'

/** A relation to write, with its author and its JSON pointer in the request body. */
type RelationRequest = { caller: Caller; relation: RelationBody; pointer: string }

/** The relations that were written, or the problem if no relation was written. */
type Outcome = readonly PutRelation[] | Problem

const limits = { perTransaction: 256, waiting: 10_000 } as const

/**
 * `RelationWriter` creates and refreshes relations on behalf of callers. Concurrent writes of a tenant share transactions.
 * Each request still gets its own result, audit entry and author.
 */
export class RelationWriter {
  readonly #database: Database
  readonly #coalescer: WriteCoalescer<RelationRequest, readonly PutRelation[]>

  constructor(database: Database) {
    this.#database = database
    this.#coalescer = new WriteCoalescer({
      maxItems: limits.perTransaction,
      maxBatches: 2,
      maxWaiting: limits.waiting,
      commit: (tenantId, coalesced) => this.#writeTogether(tenantId, coalesced),
    })
  }

  /** Writes one relation. A bidirectional relation is written together with its reverse: both are written or neither. */
  write(caller: Caller, relation: RelationBody): Promise<readonly PutRelation[]> {
    const request = { caller, relation, pointer: '/data' }
    return caller.transaction === undefined
      ? this.#coalescer.submit(caller.tenantId, request)
      : this.#writeAlone(request)
  }

  /**
   * Writes many relations in one transaction, with one audit entry. If a relation is malformed or cannot be written, the
   * other relations are still written.
   */
  writeMany(
    caller: Caller,
    relations: readonly RelationBody[],
    malformed: ItemErrors = new Map(),
  ): Promise<RelationBatchResult[]> {
    const items = relations.map((relation, index) => ({ caller, relation, pointer: `/data/relations/${index}` }))
    const requests = items.filter((_, index) => !malformed.has(index))
    return this.#database.transaction(caller, async (tx) => {
      const outcomes = await writeAll(tx, requests, (ids) => lockAssets(tx, ids, readableGroups(caller)))
      const written = outcomes.values()
      const results = items.map((_, index) => resultOf(malformed.get(index) ?? written.next().value ?? []))
      const counts = Map.groupBy(results, ({ outcome }) => outcome)
        .entries()
        .map(([outcome, group]) => [outcome, group.length])
      const emit = caller.transaction === undefined ? emitLast : emitAll
      await Promise.all([
        record(tx, caller, { action: 'inventory.createRelations', detail: Object.fromEntries(counts) }),
        emit(tx, eventsOf(outcomes)),
      ])
      return results
    })
  }

  /**
   * Writes the relations of several requests in one transaction. It skips assets that another transaction has locked. A
   * request whose asset was skipped or not found is repeated in its own transaction. If the transaction fails because of
   * one request, each request is repeated alone. No request therefore waits or fails because of another request.
   */
  async #writeTogether(
    tenantId: string,
    coalesced: readonly CoalescedWrite<RelationRequest, readonly PutRelation[]>[],
  ): Promise<void> {
    const requests = coalesced.map(({ item }) => item)
    const work = async (tx: Transaction) => {
      const outcomes = await writeAll(tx, requests, (ids) => lockFreeAssets(tx, ids))
      await Promise.all([recordEach(tx, requests, outcomes), emitLast(tx, eventsOf(outcomes))])
      return outcomes
    }
    const outcomes = await this.#database.transaction({ tenantId }, work).catch((error: unknown) => {
      // In an outage the requests are not repeated, because each of them would wait for a connection again and then fail.
      if (coalesced.length === 1 || (isTransient(error) && !isContention(error))) throw error
      return []
    })
    for (const [index, { item, resolve, reject }] of coalesced.entries()) {
      const outcome = outcomes[index]
      const isUnclear = outcome === undefined || (outcome instanceof Problem && outcome.code === 'asset_not_found')
      if (isUnclear) this.#writeAlone(item).then(resolve, reject)
      else if (outcome instanceof Problem) reject(outcome)
      else resolve(outcome)
    }
  }

  #writeAlone(request: RelationRequest): Promise<readonly PutRelation[]> {
    const readable = readableGroups(request.caller)
    return this.#database.transaction(request.caller, async (tx) => {
      const outcomes = await writeAll(tx, [request], (ids) => lockAssets(tx, ids, readable))
      const [outcome = []] = outcomes
      if (outcome instanceof Problem) throw outcome
      await Promise.all([recordEach(tx, [request], outcomes), emitAll(tx, eventsOf(outcomes))])
      return outcome
    })
  }
}

/** The access group of each locked asset, by id. */
type Groups = ReadonlyMap<string, string>

/** Writes the relations of all allowed requests with one SQL statement. */
async function writeAll(
  tx: Transaction,
  requests: readonly RelationRequest[],
  lock: (assetIds: string[]) => Promise<Groups>,
): Promise<Outcome[]> {
  const groups = await lock([...new Set(requests.flatMap(({ relation }) => assetsOf(relation)))])
  const decided: (Problem | ReturnType<typeof authored>)[] = []
  const nodes = await nodesOfSubjects(tx, requests)
  for (const request of requests) {
    const refusal = refusalOf(request, groups) ?? tooManyNodes(request, nodes)
    if (refusal === undefined) decided.push(authored(request))
    else if (refusal instanceof Problem) decided.push(refusal)
    else decided.push(await permissionDeniedIn(tx, request.caller, refusal))
  }
  const put = await putRelations(
    tx,
    decided.flatMap((relations) => (relations instanceof Problem ? [] : relations)),
  )
  let end = 0
  return decided.map((relations) => {
    if (relations instanceof Problem) return relations
    end += relations.length
    return put.slice(end - relations.length, end)
  })
}

/** The nodes to which assets have relations, by the id of the asset. */
type Nodes = ReadonlyMap<string, Set<string>>

/** Returns the nodes of the assets for which the requests create relations to nodes. */
async function nodesOfSubjects(tx: Transaction, requests: readonly RelationRequest[]): Promise<Nodes> {
  const triples = requests.flatMap(({ relation }) => triplesOf(relation).filter(isAssignment))
  const subjectIds = new Set(triples.map(({ subject }) => subject.id))
  const nodes = new Map([...subjectIds].map((id) => [id, new Set<string>()]))
  if (nodes.size === 0) return nodes
  for (const { subjectId, objectId } of await listNodesOf(tx, [...subjectIds])) nodes.get(subjectId)?.add(objectId)
  return nodes
}

/** Refuses a relation to another node if the asset has too many. Assignments read all of them while others wait. */
function tooManyNodes({ relation, pointer }: RelationRequest, nodes: Nodes): Problem | undefined {
  for (const { subject, object } of triplesOf(relation).filter(isAssignment)) {
    const own = nodes.get(subject.id)
    if (own === undefined || own.has(object.id)) continue
    if (own.size >= inventoryLimits.nodesPerAsset) return nodeLimitExceeded(subject.id, own.size, pointer)
    own.add(object.id)
  }
  return undefined
}

/** Returns the problem of an asset that already has relations to the maximum number of nodes. */
export function nodeLimitExceeded(assetId: string, nodes: number, pointer: string): Problem {
  const detail = `The asset ${assetId} already has relations to ${nodes} nodes. The limit is ${inventoryLimits.nodesPerAsset}. Delete relations to nodes that no longer exist`
  return fieldProblem('too_many_relations', pointer, detail)
}

function isAssignment({ subject, predicate, object }: ReturnType<typeof triplesOf>[number]): boolean {
  return subject.type === 'asset' && predicate === assignmentPredicate && object.type === 'node'
}

function authored({ caller, relation }: RelationRequest) {
  const { value } = relation.source ?? {}
  const source = { type: 'manual' as const, ...(value === undefined ? {} : { value }) }
  return triplesOf(relation).map((triple) => ({ ...triple, source, author: authorOf(caller) }))
}

type MissingPermission = { permission: Permission; accessGroupId: string }

/** Returns why the caller cannot write the relation, or undefined if it can. */
export function refusalOf(request: RelationRequest, groups: Groups): Problem | MissingPermission | undefined {
  const { caller, relation } = request
  if (isReserved(relation.predicate)) {
    const detail = `The platform manages relations with the predicate ${relation.predicate}. Clients cannot write them`
    return new Problem('system_managed_predicate', detail)
  }
  const missing = missingAssets(request, groups)
  if (missing[0] !== undefined) return new Problem('asset_not_found', missing[0].detail, { errors: missing })
  const permission = 'inventory_write_asset_data'
  const accessGroupId = assetsOf(relation)
    .map((id) => groups.get(id) ?? '')
    .find((group) => !mayIn(caller, permission, group))
  return accessGroupId === undefined ? undefined : { permission, accessGroupId }
}

/** Returns an error for each asset that is missing or hidden. Both cases give the same error. */
function missingAssets({ caller, relation, pointer }: RelationRequest, groups: Groups): FieldError[] {
  return (['subject', 'object'] as const).flatMap((side) => {
    const { type, id } = relation[side]
    const group = groups.get(id)
    if (type === 'node' || (group !== undefined && mayIn(caller, 'inventory_read_asset_data', group))) return []
    return [{ pointer: `${pointer}/${side}`, code: 'asset_not_found', detail: `Asset ${id} does not exist` }]
  })
}

function resultOf(outcome: Outcome): RelationBatchResult {
  if (outcome instanceof Problem) return { outcome: 'failed', ...outcome.toDocument() }
  const isNew = outcome.some((put) => put.outcome === 'created')
  return { outcome: isNew ? 'created' : 'refreshed', ids: outcome.map(({ relation }) => relation.id) }
}

/** Records one audit entry for each relation, in the name of the caller who wrote it. */
async function recordEach(
  tx: Transaction,
  requests: readonly RelationRequest[],
  outcomes: readonly Outcome[],
): Promise<void> {
  const entries = requests.flatMap(({ caller }, index) =>
    putIn(outcomes[index]).map(({ relation, outcome }) => ({
      who: caller,
      action: 'inventory.createRelation',
      target: `relation/${relation.id}`,
      detail: { outcome, ...relationDetail(relation) },
    })),
  )
  if (entries.length > 0) await recordAll(tx, entries)
}

function eventsOf(outcomes: readonly Outcome[]): EventRecord[] {
  const created = outcomes.flatMap(putIn).filter(({ outcome }) => outcome === 'created')
  return relationEvents(
    'created',
    created.map(({ relation }) => relation),
  )
}

function putIn(outcome: Outcome | undefined): readonly PutRelation[] {
  return outcome === undefined || outcome instanceof Problem ? [] : outcome
}
