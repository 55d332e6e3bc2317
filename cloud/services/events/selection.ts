import { eventTypePrefix } from '@millwright/api/events.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { assetsInGroup, idsIn, matchingAssets, requireAssetFilter } from '../../platform/asset-visibility.ts'
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
 * The type, the access group and the filter must all match. With an access group, an event is
 * selected if its data contains this group. If its data contains no group, it is selected if an asset that it names is in the
 * group now. With a filter, an event is selected if an asset that it names matches the filter now and is readable for the
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
  const selected = events.filter((event) => {
    const groupId = accessGroupId === null ? undefined : groupOf(event)
    return hasType(event) && (groupId === undefined || groupId === accessGroupId) && maySee(owner, event)
  })
  if (selected.length === 0) return []
  const visible = await readableEvents(context, owner, selected)
  const readable =
    accessGroupId === null ? visible : await eventsOfGroup(context, owner, { accessGroupId, events: visible })
  if (filter === null) return readable
  const compared = readable.map((event) => ({ event, ids: isEndOfAsset(event) ? undefined : assetIdsIn(event) }))
  const matching = await matchingAssets(context, owner, { filter, ids: compared.flatMap(({ ids = [] }) => ids) })
  return compared.filter(({ ids }) => ids === undefined || ids.some((id) => matching.has(id))).map(({ event }) => event)
}

/** Returns the access group in the data of an event. Events about several assets, such as those of relations, have none. */
function groupOf({ data: { accessGroupId } }: Event): string | undefined {
  return typeof accessGroupId === 'string' ? accessGroupId : undefined
}

/**
 * Returns the events of an access group. The assets that events without a group name are compared only if the owner can
 * read the assets of the group. Otherwise the selection would show the owner which assets are in it.
 */
async function eventsOfGroup<E extends Event>(
  context: Pick<Context, 'peers'>,
  owner: Caller,
  { accessGroupId, events }: { accessGroupId: string; events: readonly E[] },
): Promise<readonly E[]> {
  const mayCompare = mayIn(owner, 'inventory_read_asset_data', accessGroupId)
  const compared = events.map((event) => ({ event, ids: groupOf(event) === undefined ? assetIdsIn(event) : undefined }))
  const ids = mayCompare ? compared.flatMap(({ ids: named = [] }) => named) : []
  const members = await assetsInGroup(context, owner, { accessGroupId, ids })
  return compared
    .filter((one) => one.ids === undefined || one.ids.some((id) => members.has(id)))
    .map(({ event }) => event)
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
