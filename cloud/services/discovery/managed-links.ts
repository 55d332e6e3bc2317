import { isDeepStrictEqual } from 'node:util'
import type { discovery } from '@millwright/api/discovery.ts'
import type { ManagedLink } from '@millwright/api/gatekeeper.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../platform/access/permission-denied.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { findAccessGroupByName } from '../../platform/access/store.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { hiddenAssets } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import { emitAll } from '../../platform/events/events.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { findLink, listLinks } from './link-store.ts'
import { findManagedLinks, lockManagedLinks, putManagedLinks } from './managed-link-store.ts'
import { requireReadableGateway } from './visibility.ts'
import { stopJob } from './workflow-job.ts'

/**
 * The built-in links that a gateway can run as child processes. The gateway stores which links are enabled, so a change
 * by its own command line and a change by the platform have the same effect. The platform sends a change as a job, which
 * the gateway leases at once, and stores the links as the gateway last reported them.
 */

const switchWorkflow = 'link-inventory'
const answerWithinSeconds = 30
const writeAssets = 'inventory_write_asset_data'

export function managedLinkHandlers(
  context: Context,
): Pick<Handlers<typeof discovery>, 'listManagedLinks' | 'switchManagedLink'> {
  return {
    async listManagedLinks({ params: { gatewayId } }, caller) {
      const gateway = await readableGateway(context, caller, gatewayId)
      const links = await readableManagedLinks(context, caller, gatewayId)
      // The log names addresses, so only callers who may write the gateway read it.
      return { data: mayIn(caller, writeAssets, gateway.access_group) ? links : links.map(withoutLog) }
    },

    async switchManagedLink({ params: { gatewayId, name }, body: { data } }, caller) {
      const linkAssetId = await requireSwitchable(context, caller, { gatewayId, name })
      await recordSwitch(context, caller, { gatewayId, name, enabled: data.enabled })
      await sendToGateway(context, caller, { gatewayId, name, enabled: data.enabled, linkAssetId })
      return { data: await storeSwitch(context, caller, { gatewayId, name, enabled: data.enabled }) }
    },
  }
}

/** Returns a gateway. Hidden and missing gateways return the same error. */
async function readableGateway(context: Context, caller: Caller, id: string) {
  await requireReadableGateway(context, caller, id)
  return (await context.peers(onboarding, systemCaller(caller)).resolveGateway({ params: { id } })).data
}

/** Returns the built-in links of a gateway, except for links whose assets are hidden from the caller. */
async function readableManagedLinks(context: Context, caller: Caller, gatewayId: string): Promise<ManagedLink[]> {
  const { managed, registered } = await context.database.read(caller, async (handle) => ({
    managed: await findManagedLinks(handle, gatewayId),
    registered: await listLinks(handle, gatewayId),
  }))
  const assets = registered.map(({ assetId }) => assetId)
  const hidden = await hiddenAssets(context, caller, assets)
  const hiddenIds = new Set(registered.flatMap((link) => (hidden.has(link.assetId) ? [link.appInstanceId] : [])))
  return managed.filter(({ appInstanceId }) => !hiddenIds.has(appInstanceId))
}

function withoutLog({ log: _, ...link }: ManagedLink): ManagedLink {
  return link
}

type LinkSwitch = { gatewayId: string; name: string; enabled: boolean }

/**
 * Requires that the caller may write in the access groups of the gateway and of the link's asset, and that the gateway is
 * online and has the link. Returns the asset of the link. A link that never ran has none.
 */
async function requireSwitchable(
  context: Context,
  caller: Caller,
  { gatewayId, name }: Omit<LinkSwitch, 'enabled'>,
): Promise<string | undefined> {
  const gateway = await readableGateway(context, caller, gatewayId)
  await requireWriteIn(context, caller, gateway.access_group)
  const links = await readableManagedLinks(context, caller, gatewayId)
  const link = links.find((one) => one.name === name)
  if (link === undefined) {
    const names = links.map((link) => link.name).join(', ')
    throw new Problem(
      'not_found',
      `Gateway ${gateway.name} has no built-in link "${name}". ${names === '' ? 'It reported no built-in links.' : `Its built-in links: ${names}.`}`,
    )
  }
  const linkAssetId = await assetOf(context, caller, { gatewayId, appInstanceId: link.appInstanceId })
  const linkGroup = linkAssetId === undefined ? undefined : await groupOf(context, caller, linkAssetId)
  if (linkGroup !== undefined) await requireWriteIn(context, caller, linkGroup)
  if (gateway.state === 'online') return linkAssetId
  if (gateway.state === 'offline')
    throw new Problem('conflict', `Gateway ${gateway.name} is offline. Start the gateway, and retry the request.`)
  throw new Problem('gateway_not_ready', `Gateway ${gateway.name} is revoked or has not enrolled.`)
}

async function requireWriteIn(context: Context, caller: Caller, accessGroupId: string): Promise<void> {
  if (mayIn(caller, writeAssets, accessGroupId)) return
  throw await context.database.read(caller, (handle) =>
    permissionDeniedIn(handle, caller, { permission: writeAssets, accessGroupId }),
  )
}

async function assetOf(
  { database }: Context,
  caller: Caller,
  { gatewayId, appInstanceId }: { gatewayId: string; appInstanceId: string },
): Promise<string | undefined> {
  return (await database.read(caller, (handle) => findLink(handle, gatewayId, appInstanceId)))?.assetId
}

/** Returns the id of the access group of an asset, or undefined if the asset was deleted. */
async function groupOf(context: Context, caller: Caller, assetId: string): Promise<string | undefined> {
  const { data } = await context
    .peers(inventory, systemCaller(caller))
    .listAssets({ query: { filter: `id eq '${assetId}'`, fields: 'access_group', limit: 1 } })
  const [asset] = data
  if (asset === undefined) return undefined
  const group = await context.database.read(caller, (handle) =>
    findAccessGroupByName(handle, String(asset.access_group)),
  )
  return group?.id
}

/** Records the request before it is sent: the gateway can apply the change even if its answer does not arrive. */
async function recordSwitch(
  { database }: Context,
  caller: Caller,
  { gatewayId, name, enabled }: LinkSwitch,
): Promise<void> {
  await database.transaction(caller, (tx) =>
    record(tx, caller, {
      action: 'discovery.switchManagedLink',
      target: `gateway/${gatewayId}`,
      detail: { link: name, enabled },
    }),
  )
}

/** Sends the change to the gateway and waits until the gateway has stored it. */
async function sendToGateway(
  context: Context,
  caller: Caller,
  { gatewayId, name, enabled, linkAssetId }: LinkSwitch & { linkAssetId: string | undefined },
): Promise<void> {
  const system = systemCaller(caller)
  const engine = context.peers(workflows, system)
  const { id } = await engine.createJob({
    body: {
      clientId: gatewayId,
      workflow: switchWorkflow,
      // The tag hides the job from callers who cannot read the link.
      tags: [switchWorkflow, ...(linkAssetId === undefined ? [] : [`asset/${linkAssetId}`])],
      definition: { link: name, enabled, askedBy: caller.principal.name },
    },
  })
  const { job, isFinal } = await engine.awaitJob({ params: { id }, query: { waitSeconds: answerWithinSeconds } })
  if (isFinal && job.status.state === 'FINISHED') return
  if (isFinal)
    throw new Problem(
      'conflict',
      job.status.message ?? 'The gateway did not apply the change and gave no reason. Read the log of the gateway.',
    )
  await stopJob(context, system, id)
  throw new Problem(
    'conflict',
    `The gateway did not respond within ${answerWithinSeconds} seconds, and can still apply the change. Check that the gateway is online, and read the list of its links.`,
  )
}

/** Stores the change that the gateway has applied. The next report of the gateway adds the state of the process. */
async function storeSwitch(
  { database }: Context,
  caller: Caller,
  { gatewayId, name, enabled }: LinkSwitch,
): Promise<ManagedLink> {
  return database.transaction(caller, async (tx) => {
    const before = await lockManagedLinks(tx, gatewayId)
    const links = before.map((link) => (link.name === name ? switched(link, enabled) : link))
    await putManagedLinks(tx, gatewayId, links)
    await emitChanges(tx, gatewayId, { before, links })
    const stored = links.find((link) => link.name === name)
    if (stored === undefined) throw new Problem('not_found', `The gateway no longer has the built-in link "${name}"`)
    return stored
  })
}

function switched(link: ManagedLink, enabled: boolean): ManagedLink {
  if (link.enabled === enabled) return link
  const { endpoint: _, problem: __, ...rest } = link
  return { ...rest, enabled, state: enabled ? 'starting' : 'stopped', restarts: 0 }
}

/** Stores the built-in links of a report. */
export async function storeManagedLinks(
  { database }: Context,
  actor: Caller,
  gatewayId: string,
  links: readonly ManagedLink[],
): Promise<void> {
  await database.transaction(actor, async (tx) => {
    const before = await lockManagedLinks(tx, gatewayId)
    if (isDeepStrictEqual(before, links)) return
    await putManagedLinks(tx, gatewayId, links)
    await emitChanges(tx, gatewayId, { before, links })
  })
}

type Change = { before: readonly ManagedLink[]; links: readonly ManagedLink[] }

/**
 * Emits the changes of links. An event names the gateway and the asset of the link, so that only callers who can read both
 * get the event.
 */
async function emitChanges(
  tx: Parameters<typeof emitAll>[0],
  gatewayId: string,
  { before, links }: Change,
): Promise<void> {
  const changed = links.filter(({ name, enabled, state }) => {
    const old = before.find((link) => link.name === name)
    return old?.enabled !== enabled || old.state !== state
  })
  if (changed.length === 0) return
  const assets = new Map((await listLinks(tx, gatewayId)).map((link) => [link.appInstanceId, link.assetId]))
  await emitAll(
    tx,
    changed.map(({ name, appInstanceId, enabled, state }) => {
      const linkAssetId = assets.get(appInstanceId)
      return {
        type: 'discovery.managed-link.changed',
        subject: `gateway/${gatewayId}`,
        data: { gatewayId, ...(linkAssetId === undefined ? {} : { linkAssetId }), name, enabled, state },
      }
    }),
  )
}
