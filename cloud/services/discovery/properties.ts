import type { discovery } from '@millwright/api/discovery.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { addressesOfAsset } from './device-address-store.ts'
import { canReadProperties } from './link.ts'
import { findLinksByAsset, type LinkRow } from './link-store.ts'

export const deviceInfoWorkflow = 'device-info'
const answerWithinSeconds = 25
const relationsPage = 100
/** The job names at most this many addresses of a device. */
export const mostAddresses = 8

type PropertyResult =
  | { key: string; value: unknown }
  | { key: string; error: { code: number; name: string; description: string } }
type SupportedProperty = { key: string; dataType?: string; schemaUri?: string; contentType?: string }
/** The result that the gateway reports for a device-info job. */
type Outcome = {
  unreachable?: boolean
  description?: string
  results?: PropertyResult[]
  properties?: SupportedProperty[]
}

/**
 * Handlers that read properties of a device through a link that found the device. The gateway of the link runs the
 * request.
 */
export function propertyHandlers(
  context: Context,
): Pick<Handlers<typeof discovery>, 'readProperties' | 'listSupportedProperties'> {
  return {
    async readProperties({ params: { id }, body: { data } }, caller) {
      const device = await deviceAt(context, caller, id)
      if (data.keys.length === 0) return { data: [] }
      const outcome = await queryDevice(context, caller, { ...device, question: { keys: data.keys } })
      return { data: outcome.results ?? [] }
    },

    async listSupportedProperties({ params: { id } }, caller) {
      const device = await deviceAt(context, caller, id)
      const outcome = await queryDevice(context, caller, { ...device, question: { supported: true } })
      return { data: outcome.properties ?? [] }
    },
  }
}

type Device = { assetId: string; addresses: string[]; foundAddresses: string[]; link: LinkRow }

/** Returns a device with its link and addresses. Hidden and missing assets return the same error. */
async function deviceAt(context: Context, caller: Caller, assetId: string): Promise<Device> {
  const { data: asset } = await context
    .peers(inventory, caller)
    .readAsset({ params: { id: assetId }, query: { fields: 'id,connection_points' } })
  const link = await linkTo(context, caller, assetId)
  const { gatewayId, appInstanceId: assetLinkId } = link
  const found = await context.database.read(caller, (handle) =>
    addressesOfAsset(handle, { gatewayId, assetLinkId, assetId }, mostAddresses),
  )
  const addresses = [...new Set([...found, ...reportedAddresses(asset)])].slice(0, mostAddresses)
  return { assetId, addresses, foundAddresses: found, link }
}

/**
 * Returns the addresses that the device reports about itself. They follow the addresses at which the link found the
 * device, for links that do not report connections. No credentials are delivered for them.
 */
export function reportedAddresses({ connection_points: points }: Record<string, unknown>): string[] {
  const all = (Array.isArray(points) ? points : []).flatMap((point) => [point?.ipv4_address, point?.ipv6_address])
  return all.filter((address) => typeof address === 'string')
}

/** Returns a running link that found the asset and can read properties. */
async function linkTo(context: Context, caller: Caller, assetId: string): Promise<LinkRow> {
  const relations = await context.peers(inventory, systemCaller(caller)).listRelations({
    query: {
      filter: `subject.id eq '${assetId}' and predicate eq 'found_by_asset_link'`,
      limit: relationsPage,
    },
  })
  const links = await context.database.read(caller, (handle) =>
    findLinksByAsset(
      handle,
      relations.data.map(({ object }) => object.id),
    ),
  )
  const able = links.find(({ state, report }) => state === 'running' && canReadProperties(report.interfaces))
  if (able !== undefined) return able
  throw new Problem(
    'no_device_link',
    links.length === 0
      ? 'No asset link has discovered this asset, so its properties cannot be read. Run a discovery that finds the asset.'
      : 'No asset link that discovered this asset is running and can read properties. Start such an asset link.',
  )
}

type PropertyQuery = Device & { question: Record<string, unknown> }

async function queryDevice(
  context: Context,
  caller: Caller,
  { assetId, addresses, foundAddresses, link, question }: PropertyQuery,
): Promise<Outcome> {
  const system = systemCaller(caller)
  const identifiers = await context.peers(inventory, caller).readIdentifiers({ params: { id: assetId } })
  const engine = context.peers(workflows, system)
  const made = await engine.createJob({
    body: {
      clientId: link.gatewayId,
      workflow: deviceInfoWorkflow,
      tags: [deviceInfoWorkflow, `asset/${assetId}`],
      definition: {
        assetId,
        assetLinkId: link.appInstanceId,
        linkAssetId: link.assetId,
        assetIdentifiers: identifiers.data,
        addresses,
        foundAddresses,
        askedBy: caller.principal.name,
        ...question,
      },
    },
  })
  const { job, isFinal } = await engine.awaitJob({
    params: { id: made.id },
    query: { waitSeconds: answerWithinSeconds },
  })
  if (!isFinal) {
    await engine
      .moveJob({ params: { id: made.id }, body: { data: { state: 'CANCELED', as: 'WFX' } } })
      .catch(() => engine.moveJob({ params: { id: made.id }, body: { data: { state: 'CANCELING', as: 'WFX' } } }))
      .catch(() => {})
    throw unreachable(
      `The gateway did not respond within ${answerWithinSeconds} seconds. Check that the gateway is online.`,
    )
  }
  const outcome = (job.status.context ?? {}) as Outcome
  if (job.status.state === 'FINISHED' && outcome.unreachable !== true) return outcome
  throw unreachable(outcome.description ?? job.status.message ?? 'The device did not respond')
}

function unreachable(detail: string): Problem {
  return new Problem('device_unreachable', detail, { retryAfter: 10 })
}
