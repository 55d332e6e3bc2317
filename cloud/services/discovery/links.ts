import type { discovery } from '@millwright/api/discovery.ts'
import { gatekeeperLimits, type LinkReport } from '@millwright/api/gatekeeper.ts'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { hiddenAssets } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emitAll } from '../../platform/events/events.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { assetsAt, gatewayAddresses } from './device-address-store.ts'
import { gatewayCaller, onBehalfOf } from './gateway-caller.ts'
import { writeAssets } from './inventory-writes.ts'
import { assetOfLink, digestOf, productNumberOf, showLink } from './link.ts'
import { publishLinkEvents, withStoredEvents } from './link-events.ts'
import {
  findLink,
  findLinksByAsset,
  type LinkRow,
  listLinks,
  lockLinks,
  type PutLink,
  putLinks,
  type StoredReport,
} from './link-store.ts'
import { storeManagedLinks } from './managed-links.ts'
import { findDiscovery, findRun } from './store.ts'
import { requireReadableGateway } from './visibility.ts'

type Operations =
  | 'listAssetLinks'
  | 'resolveLink'
  | 'findDevices'
  | 'listDeviceAddresses'
  | 'readLinkSchemas'
  | 'recordLinks'

type Gateway = { id: string; name: string; access_group: string }
type ReportedLink = PutLink & { before: LinkRow | undefined }

export function linkHandlers(context: Context): Pick<Handlers<typeof discovery>, Operations> {
  const { database } = context
  return {
    async listAssetLinks({ params: { gatewayId } }, caller) {
      await requireReadableGateway(context, caller, gatewayId)
      const links = await database.read(caller, (handle) => listLinks(handle, gatewayId))
      const { data: gateway } = await context
        .peers(onboarding, systemCaller(caller))
        .resolveGateway({ params: { id: gatewayId } })
      const hidden = await hiddenAssets(
        context,
        caller,
        links.map(({ assetId }) => assetId),
      )
      const seen = { now: new Date(), gatewayVersion: gateway.version, isRevoked: gateway.state === 'revoked' }
      return { data: links.filter(({ assetId }) => !hidden.has(assetId)).map((link) => showLink(link, seen)) }
    },

    async resolveLink({ params: { gatewayId }, query: { assetLinkId, runId, assetId } }, caller) {
      const { link, searched } = await database.read(caller, async (handle) => {
        const run = runId === undefined ? undefined : await findRun(handle, runId)
        return {
          link: await findLink(handle, gatewayId, assetLinkId),
          searched: run === undefined ? undefined : await findDiscovery(handle, run.discoveryId),
        }
      })
      if (runId !== undefined && (searched?.gatewayId !== gatewayId || searched.assetLinkId !== assetLinkId))
        throw new Problem('forbidden', 'The discovery run of this job belongs to another asset link or gateway')
      if (assetId !== undefined && link !== undefined && !(await hasFound(context, caller, { link, assetId })))
        throw new Problem('forbidden', 'The asset link of this job has not discovered the asset')
      return { data: link === undefined ? null : (productNumberOf(link.report) ?? null) }
    },

    async findDevices({ params: { gatewayId }, body: { data } }, caller) {
      const { assetLinkId, addresses } = data
      const found = await database.read(caller, (handle) => assetsAt(handle, { gatewayId, assetLinkId, addresses }))
      return { data: addresses.map((address, index) => ({ address, assets: found[index] ?? [] })) }
    },

    async listDeviceAddresses({ params: { id } }, caller) {
      return { data: await database.read(caller, (handle) => gatewayAddresses(handle, id)) }
    },

    async readLinkSchemas({ params: { assetId } }, caller) {
      const links = await database.read(caller, (handle) => findLinksByAsset(handle, [assetId]))
      const running = links.find(({ state }) => state === 'running')
      if (running === undefined)
        throw new Problem(
          'link_not_found',
          `Asset ${assetId} is not the asset of a running asset link. Check that the asset link and its gateway are running.`,
        )
      const { deviceClass, product, credentialSchemas } = running.report
      return {
        data: {
          ...(deviceClass === undefined ? {} : { identifier: deviceClass }),
          ...(product === undefined ? {} : { version: product.version }),
          schemas: credentialSchemas,
        },
      }
    },

    async recordLinks({ params: { gatewayId }, body: { data } }, caller) {
      const { data: gateway } = await context.peers(onboarding, caller).resolveGateway({ params: { id: gatewayId } })
      const actor = onBehalfOf(gateway, caller)
      const stored = new Map(
        (await database.read(caller, (handle) => listLinks(handle, gatewayId))).map((row) => [row.appInstanceId, row]),
      )
      const reported = withRemovedLinks(
        data.links.map((report) => withKnownProduct(report, stored)),
        stored,
      )
      const links = await withAssets(context, actor, { gateway, reported, stored })
      await updateRelations(context, actor, { gateway, links })
      const expired = await storeLinks(context, actor, { gateway, links })
      if (expired.length > 0) await updateRelations(context, actor, { gateway, links: expired })
      if (data.managedLinks !== undefined) await storeManagedLinks(context, actor, gateway.id, data.managedLinks)
      return { data: links.map(({ assetId, report }) => ({ appInstanceId: report.appInstanceId, assetId })) }
    },
  }
}

/**
 * Adds the product that a link has reported before, if the gateway has not inspected the link yet. A gateway that starts again
 * reports its links before it has inspected them.
 */
function withKnownProduct(report: LinkReport, stored: ReadonlyMap<string, LinkRow>): LinkReport {
  const known = stored.get(report.appInstanceId)?.report.product
  if (report.state === 'running' || report.product !== undefined || known === undefined) return report
  return { ...report, product: known }
}

type LinkedAsset = { link: LinkRow; assetId: string }

async function hasFound(context: Context, caller: Caller, { link, assetId }: LinkedAsset): Promise<boolean> {
  const filter = `subject.id eq '${assetId}' and predicate eq 'found_by_asset_link' and object.id eq '${link.assetId}'`
  const { data } = await context.peers(inventory, systemCaller(caller)).listRelations({ query: { filter, limit: 1 } })
  return data.length > 0
}

/**
 * Adds the stored links that are missing in a report, with the state `gone`. A report contains all links of a gateway,
 * so a missing link no longer exists.
 */
function withRemovedLinks(reported: readonly LinkReport[], stored: ReadonlyMap<string, LinkRow>): LinkReport[] {
  const named = new Set(reported.map(({ appInstanceId }) => appInstanceId))
  const missing = [...stored.values()].filter(({ appInstanceId }) => !named.has(appInstanceId))
  return [...reported, ...missing.map(({ report }) => ({ ...report, state: 'gone' as const }))]
}

/** Adds the time since which an expired link is silent, until the link runs again. */
function withSilence(report: LinkReport, before: LinkRow | undefined): StoredReport {
  const silentSince = before?.report.silentSince
  return report.state === 'running' || silentSince === undefined ? report : { ...report, silentSince }
}

type Links = { gateway: Gateway; reported: readonly LinkReport[]; stored: ReadonlyMap<string, LinkRow> }

/** Returns every link with the id of its asset. Writes the asset when the link is new or has changed. */
async function withAssets(
  context: Context,
  actor: Caller,
  { gateway, reported, stored }: Links,
): Promise<ReportedLink[]> {
  const links = reported.map((report) => ({
    report,
    before: stored.get(report.appInstanceId),
    digest: digestOf(report),
  }))
  const changed = links.filter(({ before, digest, report }) => before?.digest !== digest && report.state !== 'gone')
  const assets = changed.map(({ report }) => assetOfLink(report, gateway.id))
  const written =
    assets.length === 0
      ? []
      : await writeAssets(context, await gatewayCaller(context, actor, gateway), {
          assets,
          source: { type: 'assetlinkdiscovery', value: gateway.id },
          key: `links.${newId()}`,
        })
  const ids = new Map(
    changed.flatMap(({ report }, index) => {
      const one = written[index]
      return one !== undefined && 'assetId' in one ? [[report.appInstanceId, one.assetId] as const] : []
    }),
  )
  return links.flatMap(({ report, before, digest }) => {
    const assetId = ids.get(report.appInstanceId) ?? before?.assetId
    return assetId === undefined ? [] : [{ assetId, report, digest, before, ...timesOf(report, before) }]
  })
}

/**
 * Returns when a link was last seen and when its registration expires. A link is seen when it responds to the gateway
 * or registers at the gateway.
 */
function timesOf(report: LinkReport, before: LinkRow | undefined) {
  const now = Date.now()
  const isSeen = report.state === 'running' || (report.registration !== undefined && hasRegistered(report, before))
  const { expiresInSeconds = gatekeeperLimits.registrationSeconds } = report.registration ?? {}
  return {
    lastSeenAt: isSeen || before === undefined ? new Date(now).toISOString() : before.lastSeenAt,
    registrationExpiresAt: new Date(now + expiresInSeconds * 1000).toISOString(),
  }
}

/**
 * Returns whether the link registered at its gateway since the last report. If the report has no registration times, the
 * result is true for each report.
 */
function hasRegistered({ state, registration }: LinkReport, before: LinkRow | undefined): boolean {
  if (state === 'gone') return false
  return registration === undefined || before?.report.registration?.timestamp !== registration.timestamp
}

/**
 * Creates and ends the relations of links that changed or registered since the last report. A relation that a user
 * deleted is created again. The existing relations of all these links are read first, so that they are not written
 * again.
 */
async function updateRelations(
  context: Context,
  actor: Caller,
  { gateway, links }: { gateway: Gateway; links: readonly ReportedLink[] },
): Promise<void> {
  const client = context.peers(inventory, actor)
  const due = links.filter(({ assetId, report, before }) => {
    const isChanged = before?.state !== report.state || before.assetId !== assetId
    return isChanged || hasRegistered(report, before)
  })
  const existing = await relationsOf(context, actor, { gateway, links: due })
  for (const link of due) {
    const { assetId, report, before } = link
    const body = { data: { assetLink: assetId, gateway: gateway.id } }
    const lacks = (predicate: LinkPredicate) => !existing.has(relationKey(assetId, predicate))
    try {
      if (report.state !== 'gone' && lacks('is_installed_on')) await client.recordLinkInstalled({ body })
      if (report.state === 'running') {
        if (lacks('is_running_on')) await client.recordLinkRunning({ body })
      } else if (before?.state === 'running') await client.recordLinkStopped({ body })
    } catch (error) {
      // The asset of the link was deleted. Without a digest, the next report of the gateway creates a new asset.
      if (!(error instanceof Problem) || error.code !== 'asset_not_found') throw error
      link.digest = ''
    }
  }
}

type LinkPredicate = 'is_installed_on' | 'is_running_on'

function relationKey(assetLink: string, predicate: LinkPredicate): string {
  return `${assetLink} ${predicate}`
}

async function relationsOf(
  context: Context,
  actor: Caller,
  { gateway, links }: { gateway: Gateway; links: readonly ReportedLink[] },
): Promise<Set<string>> {
  const relationKeys = new Set<string>()
  for (let start = 0; start < links.length; start += inventoryLimits.batch) {
    const assetLinks = links.slice(start, start + inventoryLimits.batch).map(({ assetId }) => assetId)
    const { data } = await context
      .peers(inventory, actor)
      .findLinkRelations({ body: { data: { gateway: gateway.id, assetLinks } } })
    for (const { assetLink, predicate } of data) relationKeys.add(relationKey(assetLink, predicate))
  }
  return relationKeys
}

/**
 * Stores the links of a report. The registration of a link can expire between the first read of the links and this transaction, so
 * the links are compared with the locked rows. Returns the links that expired in that time.
 */
async function storeLinks(
  { database }: Context,
  actor: Caller,
  { gateway, links: read }: { gateway: Gateway; links: readonly ReportedLink[] },
): Promise<ReportedLink[]> {
  return database.transaction(actor, async (tx) => {
    const stored = new Map((await lockLinks(tx, gateway.id)).map((row) => [row.appInstanceId, row]))
    const links = read.map((link) => {
      const before = stored.get(link.report.appInstanceId)
      return { ...link, before, report: withSilence(link.report, before) }
    })
    const changed = links.filter(({ before, report }) => before?.state !== report.state)
    const expired = links.filter(
      ({ before, report }, index) => report.state === 'running' && before?.state !== read[index]?.before?.state,
    )
    await putLinks(tx, gateway.id, links.map(withStoredEvents))
    await publishLinkEvents(tx, gateway.id, links)
    if (changed.length === 0) return expired
    await record(tx, actor, {
      action: 'discovery.recordLinks',
      target: `gateway/${gateway.id}`,
      detail: { links: changed.map(({ report }) => ({ link: report.appInstanceId, state: report.state })) },
    })
    await recordRecovery(tx, actor, gateway.id, changed)
    await emitAll(
      tx,
      changed.map(({ report, assetId }) => ({
        type: `discovery.link.${report.state}`,
        subject: `asset/${assetId}`,
        data: { gatewayId: gateway.id, assetLinkId: report.appInstanceId, state: report.state },
      })),
    )
    return expired
  })
}

/** Records the links that run again after their registration expired. The entry ends the entry of `linkExpiryTasks`. */
async function recordRecovery(
  tx: Transaction,
  actor: Caller,
  gatewayId: string,
  changed: readonly ReportedLink[],
): Promise<void> {
  const links = changed.flatMap(({ report, before }) => {
    const silentSince = before?.report.silentSince
    if (report.state !== 'running' || silentSince === undefined) return []
    return [{ link: report.appInstanceId, state: report.state, silentSince }]
  })
  if (links.length === 0) return
  await record(tx, actor, { action: 'discovery.recoverLink', target: `gateway/${gatewayId}`, detail: { links } })
}
