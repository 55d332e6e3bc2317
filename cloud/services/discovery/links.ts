import type { discovery } from '@millwright/api/discovery.ts'
import type { LinkReport } from '@millwright/api/gatekeeper.ts'
import { inventory } from '@millwright/api/inventory.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { hiddenAssets } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import { newId } from '../../platform/database/id.ts'
import { emitAll } from '../../platform/events/events.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { gatewayCaller, onBehalfOf } from './gateway-caller.ts'
import { writeAssets } from './inventory-writes.ts'
import { assetOfLink, digestOf, productNumberOf, showLink } from './link.ts'
import { publishLinkEvents, withStoredEvents } from './link-events.ts'
import { findLink, findLinksByAsset, type LinkRow, listLinks, type PutLink, putLinks } from './link-store.ts'
import { requireReadableGateway } from './visibility.ts'

/** How often what has not changed is told to the inventory again: a relation that somebody deleted comes back. */
const restateMs = 10 * 60_000

type Names = 'listAssetLinks' | 'resolveLink' | 'readLinkSchemas' | 'recordLinks'

type Gateway = { id: string; name: string; access_group: string }
type Told = PutLink & { before: LinkRow | undefined }

export function linkHandlers(context: Context): Pick<Handlers<typeof discovery>, Names> {
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
      const seen = { now: new Date(), gatewayVersion: gateway.version }
      return { data: links.filter(({ assetId }) => !hidden.has(assetId)).map((link) => showLink(link, seen)) }
    },

    async resolveLink({ params: { gatewayId }, query: { assetLinkId } }, caller) {
      const link = await database.read(caller, (handle) => findLink(handle, gatewayId, assetLinkId))
      return { data: link === undefined ? null : (productNumberOf(link.report) ?? null) }
    },

    async readLinkSchemas({ params: { assetId } }, caller) {
      const links = await database.read(caller, (handle) => findLinksByAsset(handle, [assetId]))
      const running = links.find(({ state }) => state === 'running')
      if (running === undefined)
        throw new Problem('link_not_found', `No running link has the asset ${assetId}: is it started, and its gateway?`)
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
      const known = new Map(
        (await database.read(caller, (handle) => listLinks(handle, gatewayId))).map((row) => [row.appInstanceId, row]),
      )
      const reported = withMissing(data.links, known)
      const told = await withAssets(context, actor, { gateway, reported, known })
      await stateAll(context, actor, { gateway, told })
      await keep(context, actor, { gateway, told })
      return { data: told.map(({ assetId, report }) => ({ appInstanceId: report.appInstanceId, assetId })) }
    },
  }
}

/** A report names all links that there are: one that it does not name is gone. */
function withMissing(reported: readonly LinkReport[], known: ReadonlyMap<string, LinkRow>): LinkReport[] {
  const named = new Set(reported.map(({ appInstanceId }) => appInstanceId))
  const missing = [...known.values()].filter(({ appInstanceId }) => !named.has(appInstanceId))
  return [...reported, ...missing.map(({ report }) => ({ ...report, state: 'gone' as const }))]
}

type Links = { gateway: Gateway; reported: readonly LinkReport[]; known: ReadonlyMap<string, LinkRow> }

/** Every link with its asset, written when the link is new or says something else about itself. */
async function withAssets(context: Context, actor: Caller, { gateway, reported, known }: Links): Promise<Told[]> {
  const links = reported.map((report) => ({
    report,
    before: known.get(report.appInstanceId),
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
    return assetId === undefined ? [] : [{ assetId, report, digest, before, statedAt: before?.statedAt ?? '' }]
  })
}

/** Tells the inventory which links are installed and which run, where that is new or was said long ago. */
async function stateAll(
  context: Context,
  actor: Caller,
  { gateway, told }: { gateway: Gateway; told: Told[] },
): Promise<void> {
  const client = context.peers(inventory, actor)
  const now = new Date()
  for (const link of told) {
    const { report, before } = link
    const isRunning = report.state === 'running'
    const wasRunning = before?.state === 'running'
    const isDue = link.statedAt === '' || now.getTime() - Date.parse(link.statedAt) > restateMs
    const changed = before?.state !== report.state || before.assetId !== link.assetId
    if (!changed && !isDue) continue
    const data = { assetLink: link.assetId, gateway: gateway.id }
    try {
      if (report.state !== 'gone') await client.recordLinkInstalled({ body: { data } })
      if (isRunning) await client.recordLinkRunning({ body: { data } })
      else if (wasRunning) await client.recordLinkStopped({ body: { data } })
      link.statedAt = now.toISOString()
    } catch (error) {
      // Somebody deleted its asset: the next report makes it anew.
      if (!(error instanceof Problem) || error.code !== 'asset_not_found') throw error
      link.digest = ''
      link.statedAt = new Date(0).toISOString()
    }
  }
}

async function keep(
  { database }: Context,
  actor: Caller,
  { gateway, told }: { gateway: Gateway; told: readonly Told[] },
): Promise<void> {
  const changed = told.filter(({ before, report }) => before?.state !== report.state)
  await database.transaction(actor, async (tx) => {
    await putLinks(tx, gateway.id, told.map(withStoredEvents))
    await publishLinkEvents(tx, gateway.id, told)
    if (changed.length === 0) return
    await record(tx, actor, {
      action: 'discovery.recordLinks',
      target: `gateway/${gateway.id}`,
      detail: { links: changed.map(({ report }) => ({ link: report.appInstanceId, state: report.state })) },
    })
    await emitAll(
      tx,
      changed.map(({ report, assetId }) => ({
        type: `discovery.link.${report.state}`,
        subject: `asset/${assetId}`,
        data: { gatewayId: gateway.id, assetLinkId: report.appInstanceId, state: report.state },
      })),
    )
  })
}
