import type { Delivery } from '@millwright/api/event-subscriptions.ts'
import { eventTypePrefix } from '@millwright/api/events.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { storedPrincipal } from '../../platform/access/current-caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { isId, newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context } from '../../platform/service.ts'
import { WindowLimit } from '../../platform/window-limit.ts'
import * as deliveries from './delivery/delivery-store.ts'
import { messageOf } from './delivery/message.ts'
import { deliveryRequest, readableDeliveries } from './delivery-log.ts'
import { cloudEvent } from './message.ts'
import { requireFilter } from './selection.ts'
import { requireAccessGroup, requireAuthority, requireRoom, requireTarget, requireUrl } from './subscription-checks.ts'
import type { SubscriptionAction, SubscriptionInput, SubscriptionKind } from './subscription-kind.ts'
import type { SubscriptionRow } from './subscription-store.ts'
import * as store from './subscription-store.ts'
import { type CommonView, commonView, deliveryView } from './subscription-view.ts'

/** How many test events a subscription can send. */
const testLimit = { most: 10, windowMs: 60_000 } as const

type ById = { params: { id: string } }
type ByDelivery = { params: { id: string; deliveryId: string } }

/** Creates the handlers of a kind. Their names are those of `SubscriptionAction`. */
export function subscriptionHandlers<Input extends SubscriptionInput, OwnView>(
  context: Context,
  kind: SubscriptionKind<Input, OwnView>,
) {
  type View = CommonView & OwnView
  const { database } = context
  const tests = new WindowLimit({ ...testLimit, shared: { name: 'subscription tests', counts: context.sharedCounts } })
  const show = (row: SubscriptionRow, status: deliveries.SubscriptionStatus): View => ({
    ...commonView(row, status),
    ...kind.viewOf(row),
  })
  const subjectOf = (id: string) => `${kind.noun}/${id}`
  const key = (id: string) => ({ id, kind: kind.kind })
  const missing = (id: string) => new Problem('not_found', `${kind.title} ${id} does not exist`)

  const get = async (handle: Handle, id: string) => {
    const row = await store.findSubscription(handle, key(id))
    if (row === undefined) throw missing(id)
    return row
  }
  const getLocked = async (tx: Transaction, id: string) => {
    const row = await store.lockSubscription(tx, key(id))
    if (row === undefined) throw missing(id)
    return row
  }
  const getShown = async (handle: Handle, id: string) => {
    const row = await get(handle, id)
    const [status] = await deliveries.readStatus(handle, [id])
    if (status === undefined) throw missing(id)
    return { version: row.version, view: show(row, status) }
  }
  const audit = (tx: Transaction, caller: Caller, action: SubscriptionAction, target: AuditTarget) =>
    record(tx, caller, {
      action: `events.${kind.actions[action]}`,
      target: subjectOf(target.id),
      detail: target.detail,
    })
  const announce = (tx: Transaction, verb: 'created' | 'updated' | 'deleted', { id, name, changed }: Announcement) =>
    emit(tx, {
      type: `events.${kind.noun}.${verb}`,
      subject: subjectOf(id),
      data: { [kind.idField]: id, name, ...(changed === undefined ? {} : { changed }) },
    })
  const sealed = (tx: Transaction, id: string, secret: string | null) =>
    secret === null ? null : context.safe.seal(tx, secret, store.secretOwner(id))

  /** Pauses a subscription whose owner is disabled or deleted. */
  const pauseWithoutOwner = async (tx: Transaction, { id, principalId }: SubscriptionRow) => {
    const held = await context.access.within(tx, principalId)
    if (held === undefined || held.principal.disabled) await deliveries.pauseForOwner(tx, id)
  }
  const resume = async (tx: Transaction, row: SubscriptionRow) => {
    await deliveries.clearStop(tx, row.id)
    await pauseWithoutOwner(tx, row)
  }

  return {
    /** Returns a subscription, for operations that only one kind has. */
    get,
    getLocked,
    getShown,

    async list({ query: { limit = 50, offset = 0 } }: { query: { limit?: number; offset?: number } }, caller: Caller) {
      const { rows, total, statuses } = await database.read(caller, async (handle) => {
        const listed = await store.listSubscriptions(handle, { kind: kind.kind, limit, offset })
        const ids = listed.rows.map(({ id }) => id)
        return { ...listed, statuses: ids.length === 0 ? [] : await deliveries.readStatus(handle, ids) }
      })
      const byId = new Map(statuses.map((status) => [status.subscriptionId, status]))
      // A subscription that was deleted between the two statements has no progress.
      const data = rows.flatMap((row) => {
        const status = byId.get(row.id)
        return status === undefined ? [] : [show(row, status)]
      })
      return { data, meta: { totalElements: total, elements: data.length, offset } }
    },

    /** Creates a subscription. Returns it with its secret, which only webhooks show to the caller. */
    async create(input: Input & { url: string; types: string[] }, caller: Caller) {
      const id = newId()
      const change = { id, input, before: undefined }
      requireUrl(input.url, kind.exampleUrl)
      await requireTarget(context, kind, input.url)
      requireAuthority(input.certificateAuthority)
      const details = kind.detailsOf(change)
      const secret = kind.secretOf(change) ?? null
      if (input.filter != null) await requireFilter(context, caller, input.filter)
      const shown = await database.transaction(caller, async (tx) => {
        await requireRoom(tx)
        await requireAccessGroup(tx, caller, input.accessGroup ?? null)
        const { name = nameOf(input.url), url, types, accessGroup = null, filter = null, active = true } = input
        await store.insertSubscription(tx, {
          ...storedPrincipal(caller),
          id,
          kind: kind.kind,
          name,
          url,
          types,
          accessGroupId: accessGroup,
          filter,
          active,
          certificateAuthority: input.certificateAuthority ?? null,
          details,
          sealedSecret: await sealed(tx, id, secret),
          createdAt: new Date().toISOString(),
        })
        await deliveries.createProgress(tx, id)
        const detail = { name, host: new URL(url).host, types, accessGroup, filter }
        await audit(tx, caller, 'create', { id, detail })
        await announce(tx, 'created', { id, name })
        return getShown(tx, id)
      })
      const headers = { location: `${kind.path}/${id}`, etag: etagOf(shown.version) }
      return { view: shown.view, secret, headers }
    },

    async read({ params: { id } }: ById, caller: Caller) {
      const { version, view } = await database.read(caller, (handle) => getShown(handle, id))
      return answer(200, { data: view }, { etag: etagOf(version) })
    },

    async update(
      { params: { id }, headers, body }: ById & { headers: { 'if-match'?: string }; body: { data: Input } },
      caller: Caller,
    ) {
      const input = body.data
      const stored = await database.read(caller, (handle) => get(handle, id))
      if (input.url !== undefined) {
        requireUrl(input.url, kind.exampleUrl)
        if (input.url !== stored.url) await requireTarget(context, kind, input.url)
      }
      requireAuthority(input.certificateAuthority)
      if (input.filter != null) await requireFilter(context, caller, input.filter)
      const { version, view } = await database.transaction(caller, async (tx) => {
        const before = await getLocked(tx, id)
        requireMatch(headers['if-match'], before.version)
        const change = { id, input, before }
        const owner = changesOwner(input) ? storedPrincipal(caller) : {}
        const after: SubscriptionRow = { ...before, ...ownFields(input), ...owner, details: kind.detailsOf(change) }
        after.modifiedAt = new Date().toISOString()
        if (changesOwner(input)) await requireAccessGroup(tx, caller, after.accessGroupId)
        const secret = kind.secretOf(change)
        if (secret !== undefined) after.sealedSecret = await sealed(tx, id, secret)
        await store.updateSubscription(tx, after)
        if (input.active === true || (await isContinued(tx, before, after))) await resume(tx, after)
        else await deliveries.interruptRunner(tx, id)
        const changed = Object.keys(input)
        const detail = { changed, ...auditDetail(before, after) }
        await audit(tx, caller, 'update', { id, detail })
        await announce(tx, 'updated', { id, name: after.name, changed })
        return getShown(tx, id)
      })
      return answer(200, { data: view }, { etag: etagOf(version) })
    },

    async delete({ params: { id }, headers }: ById & { headers: { 'if-match'?: string } }, caller: Caller) {
      await database.transaction(caller, async (tx) => {
        const { name, version } = await getLocked(tx, id)
        requireMatch(headers['if-match'], version)
        // The lock of the progress comes before its deletion, so that a runner that stores results waits.
        await deliveries.interruptRunner(tx, id)
        await store.deleteSubscription(tx, id)
        await audit(tx, caller, 'delete', { id, detail: { name } })
        await announce(tx, 'deleted', { id, name })
      })
      return answer(204)
    },

    /** Sends a test event at once, also if the subscription is paused. The event is not sent again. */
    async test({ params: { id } }: ById, caller: Caller) {
      const row = await database.read(caller, (handle) => get(handle, id))
      if (!tests.take(`${caller.tenantId}/${id}`))
        throw new Problem('too_many_requests', `The limit is ${testLimit.most} test events per minute. Retry later`, {
          retryAfter: testLimit.windowMs / 1_000,
        })
      const event = testEvent(kind, row, caller)
      const message = messageOf([event], { isBatch: kind.isBatch(row) })
      const channel = await kind.openTestChannel(context, caller, row)
      const { isDelivered, attempt } = await channel
        .send(message, context.stopping)
        .finally(() => channel.close().catch(() => {}))
      const delivery = await database.transaction(caller, async (tx) => {
        await getLocked(tx, id)
        await audit(tx, caller, 'test', { id, detail: { name: row.name, isDelivered } })
        return deliveries.insertTestDelivery(tx, id, {
          id: newId(),
          eventId: event.id,
          type: event.type.slice(eventTypePrefix.length),
          subject: event.subject,
          state: isDelivered ? 'succeeded' : 'failed',
          messageId: message.id,
          attempt,
          createdAt: attempt.time,
        })
      })
      return { data: deliveryView(delivery, true) }
    },

    async listDeliveries({ params: { id }, query }: ById & { query: DeliveryQuery }, caller: Caller) {
      const { limit = 50, offset = 0, cursor, state, deadLetters } = query
      if (cursor !== undefined && !isId(cursor))
        throw new Problem('invalid_cursor', 'The cursor is not valid. Use meta.nextCursor of the previous page')
      const rows = await database.read(caller, async (handle) => {
        await get(handle, id)
        const page = { before: cursor, offset, limit: limit + 1 }
        return deliveries.listDeliveries(handle, { subscriptionId: id, state, deadLetters, ...page })
      })
      const shown = rows.slice(0, limit)
      const readable = await readableDeliveries(context, caller, shown)
      const data = shown.map((delivery) => deliveryView(delivery, readable.has(delivery.id)))
      const next = rows.length > limit ? data.at(-1)?.id : undefined
      return { data, meta: { elements: data.length, offset, ...(next === undefined ? {} : { nextCursor: next }) } }
    },

    async readDelivery({ params: { id, deliveryId } }: ByDelivery, caller: Caller) {
      const { row, delivery } = await database.read(caller, async (handle) => ({
        row: await get(handle, id),
        delivery: await deliveries.findDelivery(handle, { subscriptionId: id, deliveryId }),
      }))
      if (delivery === undefined) throw new Problem('not_found', `Delivery ${deliveryId} does not exist`)
      const isReader = (await readableDeliveries(context, caller, [delivery])).has(delivery.id)
      const request = isReader ? await deliveryRequest(context, caller, { kind, row, delivery }) : null
      return { data: { ...deliveryView(delivery, isReader), request } }
    },

    async retryDelivery({ params: { id, deliveryId } }: ByDelivery, caller: Caller) {
      const delivery = await database.transaction(caller, async (tx) => {
        await getLocked(tx, id)
        const retried = await deliveries.retryDelivery(tx, { subscriptionId: id, deliveryId })
        const detail = { deliveryId, eventId: retried.eventId }
        await audit(tx, caller, 'retryDelivery', { id, detail })
        return retried
      })
      const readable = await readableDeliveries(context, caller, [delivery])
      return { data: deliveryView(delivery, readable.has(deliveryId)) }
    },

    async retryDeadLetters({ params: { id } }: ById, caller: Caller) {
      const data = await database.transaction(caller, async (tx) => {
        await getLocked(tx, id)
        const result = await deliveries.retryDeadLetters(tx, id)
        await audit(tx, caller, 'retryDeadLetters', { id, detail: result })
        return result
      })
      return { data }
    },

    async replay(
      { params: { id }, body }: ById & { body: { data: { fromPosition: number } } },
      caller: Caller,
    ): Promise<{ data: View }> {
      const { fromPosition } = body.data
      const { view } = await database.transaction(caller, async (tx) => {
        const row = await getLocked(tx, id)
        await deliveries.replay(tx, { subscriptionId: id, fromPosition })
        await pauseWithoutOwner(tx, row)
        await audit(tx, caller, 'replay', { id, detail: { fromPosition } })
        return getShown(tx, id)
      })
      return { data: view }
    },
  }
}

type AuditTarget = { id: string; detail: Record<string, unknown> }
type Announcement = { id: string; name: string; changed?: string[] }
type DeliveryQuery = {
  limit?: number
  offset?: number
  cursor?: string
  state?: Delivery['state']
  deadLetters?: boolean
}

/** Returns the fields of a row that a request sets. */
function ownFields(input: SubscriptionInput): Partial<SubscriptionRow> {
  const { name, url, types, accessGroup, filter, active, certificateAuthority } = input
  const fields = { name, url, types, accessGroupId: accessGroup, filter, active, certificateAuthority }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/**
 * Returns whether the request sets what is sent or where. The principal that sets it becomes the owner. Otherwise a
 * caller could receive events that only the former owner can read.
 */
function changesOwner(input: SubscriptionInput): boolean {
  return Object.keys(input).some((field) => field !== 'name' && field !== 'active')
}

/**
 * Returns whether a change continues the subscription. The events that wait for a retry are then due at once, because the
 * receiver can be another one now. A new owner continues a subscription whose owner was disabled. A subscription that the
 * platform has stopped for another reason does not continue until a user activates it.
 */
async function isContinued(tx: Transaction, before: SubscriptionRow, after: SubscriptionRow): Promise<boolean> {
  const hasNewOwner = before.principalId !== after.principalId
  const hasNewTarget = before.url !== after.url || before.certificateAuthority !== after.certificateAuthority
  if (!hasNewOwner && !hasNewTarget) return false
  const [status] = await deliveries.readStatus(tx, [after.id])
  if (status?.stoppedReason === 'owner_disabled') return hasNewOwner
  return hasNewTarget && status?.stoppedReason === null
}

/** Returns the changes for the audit trail. A URL can contain a secret, so only its host is recorded. */
function auditDetail(before: SubscriptionRow, after: SubscriptionRow): Record<string, unknown> {
  const { host } = new URL(after.url)
  return {
    name: after.name,
    ...(before.url === after.url ? {} : { hostBefore: new URL(before.url).host, host }),
    ...(before.active === after.active ? {} : { active: after.active }),
    ...(before.principalId === after.principalId ? {} : { ownerBefore: before.principalId, owner: after.principalId }),
  }
}

function testEvent<Input extends SubscriptionInput, OwnView>(
  { noun, idField }: SubscriptionKind<Input, OwnView>,
  { id, name }: SubscriptionRow,
  { tenantName }: Caller,
) {
  return cloudEvent(
    {
      id: newId(),
      position: 0,
      type: `events.${noun}.tested`,
      subject: `${noun}/${id}`,
      time: new Date().toISOString(),
      data: { [idField]: id, name },
    },
    tenantName,
  )
}

/** Returns the default name of a subscription: the host of its URL. */
function nameOf(url: string): string {
  return new URL(url).hostname.slice(0, 128)
}
