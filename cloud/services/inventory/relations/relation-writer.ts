import type { ItemErrors } from '@millwright/api/contract.ts'
import type { RelationStatement, StatementResult } from '@millwright/api/inventory-relations.ts'
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
import { readableGroups } from '../visibility.ts'
import { assetsOf, authorOf, isReserved, relationDetail, relationEvents, triplesOf } from './relation.ts'
import { lockAssets, lockFreeAssets, type PutRelation, putRelations } from './relation-store.ts'

/** A relation, who states it, and where in the request it stands. */
type Statement = { caller: Caller; relation: RelationStatement; pointer: string }

/** What was put, or why nothing was. */
type Outcome = readonly PutRelation[] | Problem

const limits = { together: 256, waiting: 10_000 } as const

/** States what people and programs say of relations. Those who do so at the same time share transactions. */
export class Stating {
  readonly #database: Database
  readonly #coalescer: WriteCoalescer<Statement, readonly PutRelation[]>

  constructor(database: Database) {
    this.#database = database
    this.#coalescer = new WriteCoalescer({
      maxItems: limits.together,
      maxBatches: 2,
      maxWaiting: limits.waiting,
      commit: (tenantId, coalesced) => this.#together(tenantId, coalesced),
    })
  }

  /** One, and its reverse when it holds both ways: both or neither. */
  state(caller: Caller, relation: RelationStatement): Promise<readonly PutRelation[]> {
    const statement = { caller, relation, pointer: '/data' }
    return caller.transaction === undefined
      ? this.#coalescer.submit(caller.tenantId, statement)
      : this.#alone(statement)
  }

  /**
   * Writes many relations in one transaction, with one entry on the audit trail. A relation that cannot be written, or
   * that is malformed, fails without the others.
   */
  stateMany(
    caller: Caller,
    relations: readonly RelationStatement[],
    malformed: ItemErrors = new Map(),
  ): Promise<StatementResult[]> {
    const items = relations.map((relation, index) => ({ caller, relation, pointer: `/data/relations/${index}` }))
    const statements = items.filter((_, index) => !malformed.has(index))
    return this.#database.transaction(caller, async (tx) => {
      const outcomes = await stateAll(tx, statements, (ids) => lockAssets(tx, ids, readableGroups(caller)))
      const written = outcomes.values()
      const results = items.map((_, index) => resultOf(malformed.get(index) ?? written.next().value ?? []))
      const counts = Map.groupBy(results, ({ outcome }) => outcome)
        .entries()
        .map(([outcome, those]) => [outcome, those.length])
      const emit = caller.transaction === undefined ? emitLast : emitAll
      await Promise.all([
        record(tx, caller, { action: 'inventory.createRelations', detail: Object.fromEntries(counts) }),
        emit(tx, eventsOf(outcomes)),
      ])
      return results
    })
  }

  /**
   * Nobody here waits for an asset that somebody else holds, or fails because of somebody else: who would is looked at
   * again alone, while the next go on.
   */
  async #together(
    tenantId: string,
    coalesced: readonly CoalescedWrite<Statement, readonly PutRelation[]>[],
  ): Promise<void> {
    const statements = coalesced.map(({ item }) => item)
    const work = async (tx: Transaction) => {
      const outcomes = await stateAll(tx, statements, (ids) => lockFreeAssets(tx, ids))
      await Promise.all([recordEach(tx, statements, outcomes), emitLast(tx, eventsOf(outcomes))])
      return outcomes
    }
    const outcomes = await this.#database.transaction({ tenantId }, work).catch((error: unknown) => {
      // In an outage each would fail alone as well, and wait for a connection as long again.
      if (coalesced.length === 1 || (isTransient(error) && !isContention(error))) throw error
      return []
    })
    for (const [index, { item, resolve, reject }] of coalesced.entries()) {
      const outcome = outcomes[index]
      const isUnclear = outcome === undefined || (outcome instanceof Problem && outcome.code === 'asset_not_found')
      if (isUnclear) this.#alone(item).then(resolve, reject)
      else if (outcome instanceof Problem) reject(outcome)
      else resolve(outcome)
    }
  }

  #alone(statement: Statement): Promise<readonly PutRelation[]> {
    const seen = readableGroups(statement.caller)
    return this.#database.transaction(statement.caller, async (tx) => {
      const outcomes = await stateAll(tx, [statement], (ids) => lockAssets(tx, ids, seen))
      const [outcome = []] = outcomes
      if (outcome instanceof Problem) throw outcome
      await Promise.all([recordEach(tx, [statement], outcomes), emitAll(tx, eventsOf(outcomes))])
      return outcome
    })
  }
}

type Groups = ReadonlyMap<string, string>

/** What can be stated is stated, in one statement. */
async function stateAll(
  tx: Transaction,
  statements: readonly Statement[],
  lock: (assetIds: string[]) => Promise<Groups>,
): Promise<Outcome[]> {
  const groups = await lock([...new Set(statements.flatMap(({ relation }) => assetsOf(relation)))])
  const decided: (Problem | ReturnType<typeof authored>)[] = []
  for (const statement of statements) {
    const refusal = refusalOf(statement, groups)
    if (refusal === undefined) decided.push(authored(statement))
    else if (refusal instanceof Problem) decided.push(refusal)
    else decided.push(await permissionDeniedIn(tx, statement.caller, refusal))
  }
  const put = await putRelations(
    tx,
    decided.flatMap((one) => (one instanceof Problem ? [] : one)),
  )
  let taken = 0
  return decided.map((one) => {
    if (one instanceof Problem) return one
    taken += one.length
    return put.slice(taken - one.length, taken)
  })
}

function authored({ caller, relation }: Statement) {
  const { value } = relation.source ?? {}
  const source = { type: 'manual' as const, ...(value === undefined ? {} : { value }) }
  return triplesOf(relation).map((triple) => ({ ...triple, source, author: authorOf(caller) }))
}

type MissingPermission = { permission: Permission; accessGroupId: string }

function refusalOf(statement: Statement, groups: Groups): Problem | MissingPermission | undefined {
  const { caller, relation } = statement
  if (isReserved(relation.predicate)) {
    const detail = `${relation.predicate} is written when the system sees it happen; it cannot be stated by hand`
    return new Problem('system_managed_predicate', detail)
  }
  const missing = missingAssets(statement, groups)
  if (missing[0] !== undefined) return new Problem('asset_not_found', missing[0].detail, { errors: missing })
  const permission = 'inventory_write_asset_data'
  const accessGroupId = assetsOf(relation)
    .map((id) => groups.get(id) ?? '')
    .find((group) => !mayIn(caller, permission, group))
  return accessGroupId === undefined ? undefined : { permission, accessGroupId }
}

/** An asset that is missing and one that the caller may not see are told apart by nobody. */
function missingAssets({ caller, relation, pointer }: Statement, groups: Groups): FieldError[] {
  return (['subject', 'object'] as const).flatMap((side) => {
    const { type, id } = relation[side]
    const group = groups.get(id)
    if (type === 'node' || (group !== undefined && mayIn(caller, 'inventory_read_asset_data', group))) return []
    return [{ pointer: `${pointer}/${side}`, code: 'asset_not_found', detail: `There is no asset ${id}` }]
  })
}

function resultOf(outcome: Outcome): StatementResult {
  if (outcome instanceof Problem) return { outcome: 'failed', ...outcome.toDocument() }
  const isNew = outcome.some((put) => put.outcome === 'created')
  return { outcome: isNew ? 'created' : 'refreshed', ids: outcome.map(({ relation }) => relation.id) }
}

/** An entry for each relation, of who stated it. */
async function recordEach(
  tx: Transaction,
  statements: readonly Statement[],
  outcomes: readonly Outcome[],
): Promise<void> {
  const entries = statements.flatMap(({ caller }, index) =>
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
