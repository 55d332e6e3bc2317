import type { Caller, PrincipalKind } from '../access/caller.ts'
import type { Database, Scope, Transaction } from '../database/database.ts'
import { newId, timeOfId } from '../database/id.ts'
import { storableText } from '../database/json.ts'
import type { MigrationSource } from '../database/migrations.ts'
import { insert, insertAll } from './store.ts'

export { auditTasks } from './sealing.ts'

export const auditMigrations: MigrationSource = { module: 'audit', folder: new URL('./migrations/', import.meta.url) }

/** The actor of an entry. It is a caller, or an anonymous caller with the name that it claimed. */
export type Actor = {
  readonly principal: { readonly id: string | null; readonly kind: PrincipalKind; readonly name: string }
  readonly request: Caller['request']
}

export type AuditRecord = {
  /** The action in the form `<contract>.<operation>`. */
  action: string
  /** The target in the form `kind/id`. */
  target?: string
  outcome?: 'done' | 'denied' | 'failed'
  /** Additional data. It must not contain secrets. */
  detail?: Record<string, unknown>
}

/** The topic that is signalled for every new entry. */
export const auditTopic = 'audit'

/** The maximum length of the name that a caller without a token claims. */
const longestName = 512

/** Records an entry in the transaction of the change. */
export async function record(tx: Transaction, actor: Actor, entry: AuditRecord): Promise<void> {
  await insert(tx, entryOf(actor, entry))
  tx.signal(auditTopic)
}

/** Records the entries of many changes in one statement, in the transaction of the changes. */
export async function recordAll(tx: Transaction, records: readonly (AuditRecord & { who: Actor })[]): Promise<void> {
  await insertAll(
    tx,
    records.map(({ who, ...entry }) => entryOf(who, entry)),
  )
  tx.signal(auditTopic)
}

function entryOf({ principal, request }: Actor, entry: AuditRecord) {
  const id = newId()
  return {
    id,
    time: new Date(timeOfId(id)).toISOString(),
    action: entry.action,
    outcome: entry.outcome ?? 'done',
    principal: principal.id,
    principalName: storableText(principal.name.slice(0, longestName)),
    principalKind: principal.kind,
    target: entry.target === undefined ? null : storableText(entry.target.slice(0, longestName)),
    requestId: request.id,
    address: request.address ?? null,
    detail: entry.detail ?? {},
  }
}

/** Records a refusal in its own transaction, because the transaction of the request is rolled back. */
export async function recordOutside(database: Database, scope: Scope, actor: Actor, entry: AuditRecord): Promise<void> {
  await database.transaction({ tenantId: scope.tenantId }, (tx) => record(tx, actor, entry))
}
