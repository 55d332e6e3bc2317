import type { DiscoveryRun } from '@millwright/api/discovery.ts'
import type { Permission } from '@millwright/api/permission.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Rights } from '../../platform/access/rights.ts'
import { isVisibleGroup, may, mayIn, maySomewhere } from '../../platform/access/rights.ts'
import { hiddenAssets, idsIn, readableGateways, readsAllAssets } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'

type Holder = { readonly rights: Rights }
type Event = { readonly type: string; readonly subject: string; readonly data: Readonly<Record<string, unknown>> }
type TypedEvent = Pick<Event, 'type' | 'data'>
type Rule = (holder: Holder, event: TypedEvent) => boolean

/**
 * The permission that each type of event requires: the permission to read the object of the event. Keys are prefixes of
 * event types and match whole words. The longest match applies.
 */
const rules: Readonly<Record<string, Rule>> = {
  'inventory.asset': inGroupOfAsset('inventory_read_asset_data'),
  'inventory.relation': anyOf('glb_inventory_read_relation_data'),
  'inventory.custom-property': somewhere('inventory_read_asset_data'),
  'inventory.schema': somewhere('inventory_read_asset_data'),
  'inventory.settings': somewhere('inventory_read_asset_data'),
  authorization: anyOf('glb_access_manage', 'glb_audit_read'),
  identity: anyOf('glb_access_manage', 'glb_audit_read'),
  credentials: anyOf('glb_credential_read', 'glb_audit_read'),
  hierarchy: anyOf('glb_hierarchy_read', 'glb_audit_read'),
  workflows: anyOf('glb_jobs_read'),
  events: anyOf('glb_webhook_manage', 'glb_audit_read'),
  exports: anyOf('glb_file_export', 'glb_audit_read'),
  imports: anyOf('glb_file_import', 'glb_audit_read'),
  inbox: somewhere('inventory_read_asset_data'),
  discovery: anyOf('glb_jobs_read', 'glb_audit_read'),
  onboarding: anyOf('glb_jobs_read', 'glb_audit_read'),
  monitoring: anyOf('glb_jobs_read', 'glb_audit_read'),
  updates: anyOf('glb_jobs_read', 'glb_audit_read'),
  'remote-access': inGroupOfSession('remote_access_connect', 'remote_access_approve'),
}

/** The rule for types without their own rule: they require the permission to read the audit trail. */
const otherwise = anyOf('glb_audit_read')

export function maySee(holder: Holder, event: TypedEvent): boolean {
  return ruleFor(event.type)(holder, event)
}

/**
 * Returns the events that the reader may see. A reader that can read all assets sees all of them.
 *
 * An event that names an asset, a gateway or a link is removed when the reader cannot read that object. An event about a
 * job is removed when the reader cannot read the gateway of the job.
 * An event about an import or export, and about its job, is removed when another principal started it. Column mappings are
 * visible to every reader of imports.
 * An event about a decision in the inbox is removed when another principal decided. An event about an onboarding rule of
 * another author is removed when the reader cannot see the access group of the rule.
 * An event about a remote session of another user is removed without `remote_access_approve` in the access group.
 * For events about assets and relations, the rule of the event type is enough: events about assets contain the access
 * group of the asset, and relations are readable in the whole tenant by specification.
 *
 * The source of a change is removed when it is a hidden asset, for example the gateway that reported the change. Asset
 * counts are removed from events of discovery runs and hierarchies, because they include assets that the reader may not
 * be able to read. The node of an assignment is removed, because the reader cannot read the assignments of other users.
 */
export async function readableEvents<E extends Event>(
  context: Pick<Context, 'peers'>,
  reader: Caller,
  events: readonly E[],
): Promise<readonly E[]> {
  const shown = events.filter((event) => !isOfSession(event) || maySeeSession(reader, event))
  if (readsAllAssets(reader)) return shown
  return withoutHidden(context, reader, shown)
}

async function withoutHidden<E extends Event>(
  context: Pick<Context, 'peers'>,
  reader: Caller,
  events: readonly E[],
): Promise<readonly E[]> {
  const isDecided = ({ type, data }: E) =>
    /^inventory\.(?:asset|relation)\./.test(type) && maySee(reader, { type, data })
  const named = events.flatMap((event) =>
    isDecided(event) ? idsIn(sourceOf(event)) : idsIn(event.subject, event.data),
  )
  const gateways = events.some(isOfJob) ? await readableGateways(context, reader) : null
  const hidden = await hiddenAssets(context, reader, named)
  const readable = events.filter((event) => {
    if (isDecided(event)) return true
    if (event.type.startsWith('inventory.asset.')) return false
    const isOwn = event.data.principalId === reader.principal.id
    if (gateways !== null && isOfJob(event) && !isOwn && !gateways.includes(event.data.job.gatewayId)) return false
    if (isOfFile(event) && !isOwn) return false
    if (isOfInbox(event) && !isOwn && !maySeeInbox(reader, event)) return false
    return !idsIn(event.subject, event.data).some((id) => hidden.has(id))
  })
  return readable.map((event) =>
    withoutCounts(idsIn(sourceOf(event)).some((id) => hidden.has(id)) ? withoutSource(event) : event),
  )
}

/** Returns the source of a change of an asset. Returns `undefined` for other events. */
function sourceOf({ type, data }: TypedEvent): unknown {
  return type.startsWith('inventory.asset.') ? data.source : undefined
}

/** Removes everything except the type from the source of an asset event. */
function withoutSource<E extends Event>(event: E): E {
  const { type } = event.data.source as { type: string }
  return { ...event, data: { ...event.data, source: { type } } }
}

/**
 * Removes the asset counts from an event of a discovery run or a hierarchy, and the node from an event of an assignment.
 * Returns other events unchanged.
 */
function withoutCounts<E extends Event>(event: E): E {
  if (event.type.startsWith('hierarchy.')) {
    const { remainingRelations, assigned, moved, unchanged, removed, failed, ...data } = event.data
    if (!event.type.startsWith('hierarchy.assignment.')) return { ...event, data }
    const { nodeId, ...assignment } = data
    return { ...event, data: assignment }
  }
  if (!event.type.startsWith('discovery.run.')) return event
  const { found, created, updated, unchanged, gone, newlyGone, ...run } = event.data.run as DiscoveryRun
  return { ...event, data: { ...event.data, run } }
}

function isOfJob<E extends TypedEvent>(event: E): event is E & { data: { job: { gatewayId: string } } } {
  return event.type.startsWith('workflows.job.')
}

function isOfFile({ type }: TypedEvent): boolean {
  return type.startsWith('exports.') || type.startsWith('imports.import.')
}

function isOfInbox({ type }: TypedEvent): boolean {
  return type.startsWith('inbox.')
}

/** Returns whether a reader that cannot read all assets may see an event of another principal in the inbox. */
function maySeeInbox(reader: Caller, { type, data: { accessGroupId } }: Event): boolean {
  if (!type.startsWith('inbox.rule.')) return false
  return typeof accessGroupId !== 'string' || isVisibleGroup(reader.rights, accessGroupId)
}

function isOfSession({ type }: TypedEvent): boolean {
  return type.startsWith('remote-access.session.')
}

/** Returns whether the event is about an own session of the reader, or about a session that the reader supervises. */
function maySeeSession(reader: Caller, { data }: Event): boolean {
  if (data.principalId === reader.principal.id || may(reader, 'glb_audit_read')) return true
  return typeof data.accessGroupId === 'string' && mayIn(reader, 'remote_access_approve', data.accessGroupId)
}

function ruleFor(type: string): Rule {
  for (let end = type.length; end > 0; end = type.lastIndexOf('.', end - 1)) {
    const beginning = type.slice(0, end)
    if (Object.hasOwn(rules, beginning)) return rules[beginning] ?? otherwise
  }
  return otherwise
}

function anyOf(...permissions: Permission[]): Rule {
  return (holder) => permissions.some((permission) => may(holder, permission))
}

function somewhere(permission: Permission): Rule {
  return (holder) => maySomewhere(holder, permission)
}

/** Returns a rule that requires the permission in the access group that the asset had when the event happened. */
function inGroupOfAsset(permission: Permission): Rule {
  return (holder, { data: { accessGroupId } }) =>
    typeof accessGroupId === 'string' ? mayIn(holder, permission, accessGroupId) : may(holder, permission)
}

/**
 * Returns a rule that requires one of the permissions in the access group of the event, or the permission to read the audit
 * trail. Events without an access group, such as those of switches, require one of the permissions in any group.
 */
function inGroupOfSession(...permissions: Permission[]): Rule {
  return (holder, { data: { accessGroupId } }) => {
    if (may(holder, 'glb_audit_read')) return true
    return permissions.some((permission) =>
      typeof accessGroupId === 'string' ? mayIn(holder, permission, accessGroupId) : maySomewhere(holder, permission),
    )
  }
}
