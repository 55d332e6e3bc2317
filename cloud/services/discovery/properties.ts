import type { discovery } from '@millwright/api/discovery.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { addressesOfAsset } from './device-address-store.ts'
import { canReadProperties, compareLinks } from './link.ts'
import { findLinksByAsset, type LinkRow } from './link-store.ts'

export const deviceInfoWorkflow = 'device-info'
const answerWithinSeconds = 25
const relationsPage = 100
/** The code with which a link answers to the key of a property that it does not have. */
const unknownProperty = 'INVALID_ARGUMENT'
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
  /** Whether the device accepted none of the credentials, or there were none. */
  protected?: boolean
  results?: PropertyResult[]
  properties?: SupportedProperty[]
  /** The result of a test of credentials. */
  credentialTest?: unknown
}

/**
 * Handlers that read properties of a device through the links that found the device. The gateways of the links run the
 * requests.
 */
export function propertyHandlers(
  context: Context,
): Pick<Handlers<typeof discovery>, 'readProperties' | 'listSupportedProperties'> {
  return {
    async readProperties({ params: { id }, body: { data } }, caller) {
      const device = await deviceAt(context, caller, id)
      const results = new Map<string, PropertyResult>()
      const openKeys = () => [...new Set(data.keys)].filter((key) => !hasValue(results.get(key)))
      await queryLinks(context, caller, {
        device,
        question: () => (openKeys().length === 0 ? undefined : { keys: openKeys() }),
        answer: ({ results: some = [] }) => {
          for (const result of some) if (isBetter(result, results.get(result.key))) results.set(result.key, result)
        },
      })
      return { data: data.keys.flatMap((key) => results.get(key) ?? []) }
    },

    async listSupportedProperties({ params: { id } }, caller) {
      const device = await deviceAt(context, caller, id)
      const properties = new Map<string, SupportedProperty>()
      await queryLinks(context, caller, {
        device,
        question: () => ({ supported: true }),
        answer: ({ properties: some = [] }) => {
          for (const property of some) if (!properties.has(property.key)) properties.set(property.key, property)
        },
      })
      return { data: [...properties.values()] }
    },
  }
}

function hasValue(result: PropertyResult | undefined): boolean {
  return result !== undefined && 'value' in result
}

/** A value is better than an error. The error of a link that knows the property is better than that of another link. */
function isBetter(result: PropertyResult, known: PropertyResult | undefined): boolean {
  if (known === undefined || 'value' in result) return true
  return 'error' in known && known.error.name === unknownProperty && result.error.name !== unknownProperty
}

type Device = { assetId: string; reported: string[]; links: LinkRow[] }

/** Returns a device with its links and reported addresses. Hidden and missing assets return the same error. */
async function deviceAt(context: Context, caller: Caller, assetId: string): Promise<Device> {
  const { data: asset } = await context
    .peers(inventory, caller)
    .readAsset({ params: { id: assetId }, query: { fields: 'id,connection_points' } })
  return { assetId, reported: reportedAddresses(asset), links: await linksTo(context, caller, assetId) }
}

/**
 * Returns the addresses that the device reports about itself. They follow the addresses at which the link found the
 * device, for links that do not report connections. No credentials are delivered for them.
 */
export function reportedAddresses({ connection_points: points }: Record<string, unknown>): string[] {
  const all = (Array.isArray(points) ? points : []).flatMap((point) => [point?.ipv4_address, point?.ipv6_address])
  return all.filter((address) => typeof address === 'string')
}

/**
 * Returns the running links that found the asset and can read properties. Specific links come before generic ones, because
 * they read more from the device.
 */
async function linksTo(context: Context, caller: Caller, assetId: string): Promise<LinkRow[]> {
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
  const able = links.filter(({ state, report }) => state === 'running' && canReadProperties(report.interfaces))
  if (able.length > 0) return able.toSorted(compareLinks)
  throw new Problem(
    'no_device_link',
    links.length === 0
      ? 'No asset link has discovered this asset, so its properties cannot be read. Run a discovery that finds the asset.'
      : 'No asset link that discovered this asset is running and can read properties. Start such an asset link.',
  )
}

/** The errors of a link after which the next link is queried. */
const unanswered: readonly string[] = ['device_unreachable', 'device_protected']

type Queries = {
  device: Device
  /** Returns what to ask the next link, or undefined if nothing is left to ask. */
  question: () => Record<string, unknown> | undefined
  answer: (outcome: Outcome) => void
}

/**
 * Asks the links one after the other, so that the device is not read several times at once. A link on several gateways is
 * queried until one of them answers. Fails if no link answers.
 */
async function queryLinks(context: Context, caller: Caller, { device, question, answer }: Queries): Promise<void> {
  const endsAtMs = performance.now() + answerWithinSeconds * 1_000
  const answered = new Set<string>()
  let failure: Problem | undefined
  for (const link of device.links) {
    const asked = question()
    const waitSeconds = Math.ceil((endsAtMs - performance.now()) / 1_000)
    if (asked === undefined || waitSeconds <= 0) break
    if (answered.has(link.appInstanceId)) continue
    try {
      answer(await queryDevice(context, caller, { device, link, question: asked, waitSeconds }))
      answered.add(link.appInstanceId)
    } catch (error) {
      if (!(error instanceof Problem) || !unanswered.includes(error.code)) throw error
      // Credentials help more than another attempt, so the user gets this error first.
      if (failure === undefined || (error.code === 'device_protected' && failure.code !== error.code)) failure = error
    }
  }
  if (answered.size === 0 && failure !== undefined) throw failure
}

type PropertyQuery = { device: Device; link: LinkRow; question: Record<string, unknown>; waitSeconds: number }

async function queryDevice(
  context: Context,
  caller: Caller,
  { device: { assetId, reported }, link, question, waitSeconds }: PropertyQuery,
): Promise<Outcome> {
  const { gatewayId, appInstanceId: assetLinkId } = link
  const foundAddresses = await context.database.read(caller, (handle) =>
    addressesOfAsset(handle, { gatewayId, assetLinkId, assetId }, mostAddresses),
  )
  const addresses = [...new Set([...foundAddresses, ...reported])].slice(0, mostAddresses)
  const identifiers = await context.peers(inventory, caller).readIdentifiers({ params: { id: assetId } })
  const { result } = await runDeviceJob(context, caller, {
    gatewayId,
    tags: [`asset/${assetId}`],
    definition: {
      assetId,
      assetLinkId,
      linkAssetId: link.assetId,
      assetIdentifiers: identifiers.data,
      addresses,
      foundAddresses,
      ...question,
    },
    waitSeconds,
  })
  return result
}

type DeviceJob = {
  gatewayId: string
  tags: string[]
  definition: Record<string, unknown>
  waitSeconds?: number
}

/** Runs a device-info job and waits for its result. A job without a result in time is canceled. */
export async function runDeviceJob(
  context: Context,
  caller: Caller,
  { gatewayId, tags, definition, waitSeconds = answerWithinSeconds }: DeviceJob,
): Promise<{ jobId: string; result: Outcome }> {
  const engine = context.peers(workflows, systemCaller(caller))
  const made = await engine.createJob({
    body: {
      clientId: gatewayId,
      workflow: deviceInfoWorkflow,
      tags: [deviceInfoWorkflow, ...tags],
      definition: { ...definition, askedBy: caller.principal.name },
    },
  })
  const { job, isFinal } = await engine.awaitJob({
    params: { id: made.id },
    query: { waitSeconds },
  })
  if (!isFinal) {
    await engine
      .moveJob({ params: { id: made.id }, body: { data: { state: 'CANCELED', as: 'WFX' } } })
      .catch(() => engine.moveJob({ params: { id: made.id }, body: { data: { state: 'CANCELING', as: 'WFX' } } }))
      .catch(() => {})
    throw unreachable(`The gateway did not respond within ${waitSeconds} seconds. Check that the gateway is online.`)
  }
  const result = (job.status.context ?? {}) as Outcome
  if (job.status.state === 'FINISHED' && result.unreachable !== true) return { jobId: made.id, result }
  if (result.protected === true)
    throw new Problem(
      'device_protected',
      job.status.message ?? 'The device is protected. Add credentials for its address.',
    )
  throw unreachable(result.description ?? job.status.message ?? 'The device did not respond')
}

function unreachable(detail: string): Problem {
  return new Problem('device_unreachable', detail, { retryAfter: 10 })
}
