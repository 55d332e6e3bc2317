import { eventTypePrefix } from '@millwright/api/events.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { idsIn, matchingAssets, requireAssetFilter } from '../../platform/asset-visibility.ts'
import type { EventRow } from '../../platform/events/store.ts'
import type { Context } from '../../platform/service.ts'
import type { SubscriptionRow } from './subscription-store.ts'
import { maySee, readableEvents } from './visibility.ts'

/** A function that returns whether a request selects an event. */
export type Selection = (event: { type: string; subject: string }) => boolean

/**
 * Returns the selection for the parameters of a request. `types` contains prefixes of event types. A prefix matches
 * only whole words between dots, with or without the common prefix of all types.
 */
export function selectionOf({ types, subject }: { types?: string; subject?: string }): Selection {
  const beginnings = types?.split(',').map(beginningOf)
  const stem = subject?.endsWith('*') ? subject.slice(0, -1) : undefined
  return (event) =>
    (beginnings === undefined || beginnings.some((beginning) => `${event.type}.`.startsWith(beginning))) &&
    (subject === undefined || (stem === undefined ? event.subject === subject : event.subject.startsWith(stem)))
}

function beginningOf(type: string): string {
  const own = `${type}.`.startsWith(eventTypePrefix) ? type.slice(eventTypePrefix.length) : type
  return own === '' || own.endsWith('.') ? own : `${own}.`
}

type Event = Pick<EventRow, 'type' | 'subject' | 'data'>

/**
 * Returns the events that a subscription sends to its receiver, in order, with the content that the owner may read now.
 *
 * The type, the access group and the filter must all match. With an access group, only events whose data contains it are
 * selected. With a filter, an event is selected if an asset that it names matches the filter now and is readable for the
 * owner. The deletion of an asset, and its move to another access group, always match: the asset can no longer be
 * compared, or the owner can no longer read it.
 */
export async function selectEvents<E extends Event>(
  context: Pick<Context, 'peers'>,
  owner: Caller,
  { types, accessGroupId, filter }: Pick<SubscriptionRow, 'types' | 'accessGroupId' | 'filter'>,
  events: readonly E[],
): Promise<readonly E[]> {
  const hasType = selectionOf({ types: types.join(',') })
  const selected = events.filter(
    (event) =>
      hasType(event) && (accessGroupId === null || event.data.accessGroupId === accessGroupId) && maySee(owner, event),
  )
  if (selected.length === 0) return []
  const readable = await readableEvents(context, owner, selected)
  if (filter === null) return readable
  const compared = readable.map((event) => ({ event, ids: isEndOfAsset(event) ? undefined : assetIdsIn(event) }))
  const matching = await matchingAssets(context, owner, { filter, ids: compared.flatMap(({ ids = [] }) => ids) })
  return compared.filter(({ ids }) => ids === undefined || ids.some((id) => matching.has(id))).map(({ event }) => event)
}

function isEndOfAsset({ type }: Event): boolean {
  return type === 'inventory.asset.deleted' || type === 'inventory.asset.left'
}

/**
 * Returns the ids that can be ids of assets. An event about a change of an asset names only this asset, and not the gateway
 * that reported the change.
 */
function assetIdsIn({ type, subject, data }: Event): string[] {
  return type.startsWith('inventory.asset.') ? idsIn(subject) : idsIn(subject, data)
}

/** Throws `invalid_filter` or `unknown_property` for a filter that the asset list does not accept. */
export function requireFilter(context: Pick<Context, 'peers'>, caller: Caller, filter: string): Promise<void> {
  return requireAssetFilter(context, caller, { filter, pointer: '/data/filter' })
}
