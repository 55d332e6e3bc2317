import type { SubscriptionReason } from '@millwright/api/event-subscriptions.ts'
import type { StoredPrincipal } from '../../platform/access/current-caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'
import type { SealedColumn } from '../../platform/secrets/sealed-column.ts'

/** Statements on webhooks and MQTT publishers. */

export type SubscriptionKindName = 'webhook' | 'mqtt'

/** The fields of one kind. */
export type WebhookDetails = { batchSize: number }
export type PublisherDetails = {
  clientId: string
  userName: string | null
  topic: string
  retain: boolean
  statusTopic: string | null
}

/** A webhook or an MQTT publisher. The secret of a webhook signs requests. The secret of a publisher is its password. */
export type SubscriptionRow = StoredPrincipal & {
  id: string
  kind: SubscriptionKindName
  name: string
  url: string
  types: string[]
  accessGroupId: string | null
  filter: string | null
  active: boolean
  certificateAuthority: string | null
  details: WebhookDetails | PublisherDetails
  sealedSecret: Buffer | null
  sealedPreviousSecret: Buffer | null
  previousSecretUntil: string | null
  version: number
  createdAt: string
  modifiedAt: string
}

export type ProgressRow = {
  position: number
  stoppedReason: Exclude<SubscriptionReason, 'user'> | null
  stoppedAt: string | null
  failures: number
  openedAt: string | null
  blockedUntil: string | null
  wakeAt: string | null
  lastSuccessAt: string | null
  lastFailureAt: string | null
  lastError: string | null
}

const ownerColumns = `s.principal_id as "principalId", s.principal_kind as "principalKind",
  s.principal_name as "principalName", s.roles`
const secretColumns = `s.sealed_secret as "sealedSecret", s.sealed_previous_secret as "sealedPreviousSecret",
  s.previous_secret_until as "previousSecretUntil"`
const columns = `s.id, s.kind, s.name, s.url, s.types, s.access_group_id as "accessGroupId", s.filter, s.active,
  s.certificate_authority as "certificateAuthority", s.details, ${secretColumns}, ${ownerColumns},
  s.version, s.created_at as "createdAt", s.modified_at as "modifiedAt"`

const byId = statement<SubscriptionRow>(
  `select ${columns} from event_subscriptions as s where s.tenant_id = $1 and s.id = $2 and s.kind = $3`,
)
const lockedById = statement<SubscriptionRow>(
  `select ${columns} from event_subscriptions as s where s.tenant_id = $1 and s.id = $2 and s.kind = $3 for update`,
)
const pageByName = statement<SubscriptionRow>(
  `select ${columns} from event_subscriptions as s where s.tenant_id = $1 and s.kind = $2
   order by s.name, s.id limit $3 offset $4`,
)
const countOfKind = statement<{ total: number }>(
  'select count(*) as total from event_subscriptions where tenant_id = $1 and kind = $2',
)
const countAll = statement<{ total: number }>('select count(*) as total from event_subscriptions where tenant_id = $1')
const countLock = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7274))`)
const insert = statement(
  `insert into event_subscriptions (tenant_id, id, kind, name, url, types, access_group_id, filter, active,
     certificate_authority, details, sealed_secret, principal_id, principal_kind, principal_name, roles, created_at,
     modified_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text::jsonb, $12, $13, $14, $15, $16::text::jsonb,
     $17::timestamptz, $17::timestamptz)`,
)
const update = statement(
  `update event_subscriptions set name = $3, url = $4, types = $5, access_group_id = $6, filter = $7, active = $8,
     certificate_authority = $9, details = $10::text::jsonb, sealed_secret = $11, principal_id = $12,
     principal_kind = $13, principal_name = $14, roles = $15::text::jsonb, version = version + 1,
     modified_at = $16::timestamptz
   where tenant_id = $1 and id = $2`,
)
const replaceSecret = statement(
  `update event_subscriptions set sealed_secret = $3, sealed_previous_secret = $4,
     previous_secret_until = $5::timestamptz, version = version + 1, modified_at = $6::timestamptz
   where tenant_id = $1 and id = $2`,
)
const remove = statement('delete from event_subscriptions where tenant_id = $1 and id = $2')

export type SubscriptionKey = { id: string; kind: SubscriptionKindName }

export function findSubscription(handle: Handle, { id, kind }: SubscriptionKey): Promise<SubscriptionRow | undefined> {
  return handle.row(byId, id, kind)
}

/** Returns a subscription and locks its row until the end of the transaction. */
export function lockSubscription(tx: Transaction, { id, kind }: SubscriptionKey): Promise<SubscriptionRow | undefined> {
  return tx.row(lockedById, id, kind)
}

export async function listSubscriptions(
  handle: Handle,
  { kind, limit, offset }: { kind: SubscriptionKindName; limit: number; offset: number },
): Promise<{ rows: SubscriptionRow[]; total: number }> {
  const rows = await handle.rows(pageByName, kind, limit, offset)
  return { rows, total: (await handle.row(countOfKind, kind))?.total ?? 0 }
}

/**
 * Counts the subscriptions of both kinds. Other transactions that count them wait until the end of this one, so that none
 * exceeds the limit.
 */
export async function countSubscriptions(tx: Transaction): Promise<number> {
  await tx.run(countLock)
  return (await tx.row(countAll))?.total ?? 0
}

export type NewSubscription = Omit<
  SubscriptionRow,
  'version' | 'sealedPreviousSecret' | 'previousSecretUntil' | 'modifiedAt'
>

export async function insertSubscription(tx: Transaction, row: NewSubscription): Promise<void> {
  const owner = [row.principalId, row.principalKind, row.principalName, JSON.stringify(row.roles)]
  const { id, kind } = row
  await tx.run(insert, id, kind, ...fieldsOf(row), row.sealedSecret, ...owner, row.createdAt)
}

/** Stores the fields and the owner of a subscription, and its secret. Does not change the previous secret. */
export async function updateSubscription(tx: Transaction, row: SubscriptionRow): Promise<void> {
  const owner = [row.principalId, row.principalKind, row.principalName, JSON.stringify(row.roles)]
  await tx.run(update, row.id, ...fieldsOf(row), row.sealedSecret, ...owner, row.modifiedAt)
}

function fieldsOf(row: NewSubscription): unknown[] {
  const { name, url, types, accessGroupId, filter, active, certificateAuthority, details } = row
  return [name, url, types, accessGroupId, filter, active, certificateAuthority, JSON.stringify(details)]
}

type Secrets = Pick<SubscriptionRow, 'id' | 'sealedSecret' | 'sealedPreviousSecret' | 'previousSecretUntil'> & {
  modifiedAt: string
}

export async function replaceSecrets(tx: Transaction, row: Secrets): Promise<void> {
  const { id, sealedSecret, sealedPreviousSecret, previousSecretUntil, modifiedAt } = row
  await tx.run(replaceSecret, id, sealedSecret, sealedPreviousSecret, previousSecretUntil, modifiedAt)
}

export async function deleteSubscription(tx: Transaction, id: string): Promise<void> {
  await tx.run(remove, id)
}

/** Returns the owner to which the sealed secrets of a subscription are bound. */
export function secretOwner(id: string): string {
  return `event-subscription/${id}`
}

/** The sealed columns of subscriptions. */
export const sealedSubscriptionSecrets: readonly SealedColumn[] = ['sealed_secret', 'sealed_previous_secret'].map(
  (column) => ({
    of: 'tenant',
    table: 'event_subscriptions',
    column,
    key: ['id'],
    belongsTo: ({ id = '' }) => secretOwner(id),
  }),
)
