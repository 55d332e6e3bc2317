import { isIP } from 'node:net'
import { credentials } from '@millwright/api/credentials.ts'
import { credentialLimits } from '@millwright/api/credentials-shapes.ts'
import { discovery } from '@millwright/api/discovery.ts'
import type { AddressCredentials, gatekeeper } from '@millwright/api/gatekeeper.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { type IpRange, isInRanges, numberOfAddress, parseIpRange } from '@millwright/api/ip-range.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { validate as isUuid } from 'uuid'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { recordOutside } from '../../platform/audit/audit.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { ownJob, requireGateway } from './gateway.ts'

/** The maximum number of addresses in the audit entry of a refused request. */
const mostAuditedAddresses = 20

type CredentialsRequest = { jobId: string; assetLinkId: string; addresses: string[]; lease: string | undefined }

/**
 * Handlers that deliver credentials to gateways. Credentials leave the cloud only through these handlers, and only for the
 * gateway and the link of a running job.
 */
export function credentialHandlers(context: Context): Pick<Handlers<typeof gatekeeper>, 'requestCredentials'> {
  return {
    async requestCredentials({ params: { id }, body: { data } }, caller) {
      const addresses = addressesOf(data)
      const request = { jobId: id, assetLinkId: data.assetLinkId, addresses, lease: data.lease }
      const allowed = await allow(context, caller, request).catch(async (error: unknown) => {
        if (error instanceof Problem && error.status < 500) await recordDenial(context, caller, { request, error })
        throw error
      })
      return answer(200, { data: await choose(context, caller, { allowed, request }) }, { 'cache-control': 'no-store' })
    },
  }
}

function addressesOf({ address, addresses }: { address?: string; addresses?: string[] }): string[] {
  const requested = addresses ?? (address === undefined ? [] : [address])
  const wrong = (pointer: string, detail: string): FieldError => ({ pointer, code: 'invalid', detail })
  const errors = requested.flatMap((one, index) =>
    isIP(one) === 0
      ? [wrong(addresses === undefined ? '/data/address' : `/data/addresses/${index}`, 'is not an IP address')]
      : [],
  )
  if ((address === undefined) === (addresses === undefined)) {
    errors.push(wrong('/data', 'must contain either address or addresses'))
  }
  if (errors[0] === undefined) return requested
  throw new Problem('invalid_body', `${errors[0].pointer} ${errors[0].detail}`, { errors })
}

type Product = { identifier: string; version: string }
/**
 * A permitted delivery. `assetId` is the asset of a device-info job. `product` is null if the gateway has not reported
 * the link or its product.
 */
type PermittedDelivery = {
  assetId?: string
  product: Product | null
  /** The ranges of a discovery job. Addresses outside of them get no credentials. It is absent if the job has no range. */
  ranges?: readonly IpRange[] | undefined
}

/**
 * Checks the job and its lease, and compares the job with the stored data. For a discovery job, the run must belong to
 * a discovery of this gateway and link. For a device-info job, the link must have found the asset. Throws when the
 * gateway may not get the credentials.
 */
async function allow(context: Context, caller: Caller, request: CredentialsRequest): Promise<PermittedDelivery> {
  requireGateway(caller)
  const { workflow, definition, status } = await ownJob(context, caller, request.jobId)
  if (workflow.name !== 'discovery' && workflow.name !== 'device-info')
    throw new Problem('forbidden', `Gateways receive no device credentials for jobs of the workflow ${workflow.name}`)
  if (definition.assetLinkId !== request.assetLinkId)
    throw new Problem(
      'forbidden',
      `Job ${request.jobId} is not for asset link ${request.assetLinkId}. Request credentials only for the asset link of the job.`,
    )
  if (workflow.name === 'device-info' && !request.addresses.every((one) => textsIn(definition.addresses).includes(one)))
    throw new Problem(
      'forbidden',
      `Job ${request.jobId} is for a device at another address. Request credentials only for the addresses of the job.`,
    )
  if (status.state !== 'RUNNING')
    throw new Problem(
      'conflict',
      `Job ${request.jobId} is in the state ${status.state}. Credentials are delivered only while a job is in the state RUNNING.`,
    )
  const { data: lease } = await context.peers(workflows, systemCaller(caller)).readLease({
    params: { id: request.jobId },
    query: { clientId: caller.principal.id },
  })
  if (lease === null || (request.lease !== undefined && request.lease !== lease.id))
    throw new Problem(
      'lease_lost',
      `The lease of job ${request.jobId} has expired or was replaced. Stop working on the job.`,
    )
  const { runId, assetId } = definition
  const subject = workflow.name === 'discovery' ? { runId: idOf(runId) } : { assetId: idOf(assetId) }
  const { data: product } = await context.peers(discovery, systemCaller(caller)).resolveLink({
    params: { gatewayId: caller.principal.id },
    query: { assetLinkId: request.assetLinkId, ...subject },
  })
  return { ...subject, product, ranges: workflow.name === 'discovery' ? rangesIn(definition.filters) : undefined }
}

/**
 * Returns the ranges that the filters of a discovery select. Returns undefined if there is no filter `ip_range`, or one in a
 * form that only its link knows.
 */
function rangesIn(filters: unknown): IpRange[] | undefined {
  const named = textsIn(filters).flatMap((filter) => {
    const { key, comparisonOperator, value } = filter as Record<string, unknown>
    return key === 'ip_range' ? [comparisonOperator === 'EQUAL' ? String(value) : ''] : []
  })
  const ranges = named.flatMap((text) => text.split(',')).map((text) => parseIpRange(text.trim()))
  return ranges.length > 0 && ranges.every((range) => range !== undefined) ? ranges : undefined
}

/** An asset link can report any address as protected, so the address must be one that the job scans. */
function isInScan(address: string, ranges: readonly IpRange[] | undefined): boolean {
  return ranges === undefined || isInRanges(ranges, numberOfAddress(address) ?? -1)
}

function idOf(value: unknown): string {
  if (typeof value === 'string' && isUuid(value)) return value
  throw new Problem('forbidden', 'The definition of the job contains neither a discovery run nor an asset')
}

async function recordDenial(
  { database }: Context,
  caller: Caller,
  { request, error }: { request: CredentialsRequest; error: Problem },
): Promise<void> {
  const { assetLinkId, addresses } = request
  await recordOutside(database, caller, caller, {
    action: 'gatekeeper.requestCredentials',
    target: `job/${request.jobId}`,
    outcome: 'denied',
    detail: {
      assetLinkId,
      addresses: addresses.slice(0, mostAuditedAddresses),
      asked: addresses.length,
      code: error.code,
    },
  })
}

/**
 * Selects and delivers credentials. The credentials service records each delivery in the audit trail, in the name of the
 * gateway.
 */
async function choose(
  context: Context,
  caller: Caller,
  { allowed: { assetId, product, ranges }, request }: { allowed: PermittedDelivery; request: CredentialsRequest },
): Promise<AddressCredentials[]> {
  const { id: gatewayId } = caller.principal
  const addresses = request.addresses.filter((address) => isInScan(address, ranges))
  const system = systemCaller(caller)
  const none = (address: string) => ({ address, known: false, credentials: [] })
  if (product === null || addresses.length === 0) return request.addresses.map(none)
  const assetIds = await assetsAt(context, caller, { assetId, addresses })
  const actor: Caller = {
    ...system,
    principal: { id: gatewayId, kind: 'system', name: `gateway ${caller.principal.name}` },
    request: caller.request,
  }
  const devices = addresses.map((address) => ({ address, assetIds: assetIds.get(address) ?? [] }))
  const { data } = await context
    .peers(credentials, actor)
    .selectCredentials({ body: { data: { jobId: request.jobId, gatewayId, product, devices } } })
  const delivered = addresses.map((address, index): AddressCredentials => {
    const { known = false, credentials: chosen = [] } = data[index] ?? {}
    return { address, known, credentials: chosen.map(({ name: _, ...credential }) => credential) }
  })
  const byAddress = new Map(delivered.map((one) => [one.address, one]))
  return request.addresses.map((address) => byAddress.get(address) ?? none(address))
}

type Places = { assetId: string | undefined; addresses: string[] }

/**
 * Returns the ids of the assets at each address. For a device-info job, this is the asset of the job. Otherwise, one
 * request returns the assets that this gateway found at the addresses.
 */
async function assetsAt(
  context: Context,
  caller: Caller,
  { assetId, addresses }: Places,
): Promise<Map<string, string[]>> {
  if (assetId !== undefined) return new Map(addresses.map((address) => [address, [assetId]]))
  const { data } = await context
    .peers(inventory, systemCaller(caller))
    .locateAssets({ body: { data: { gateway: caller.principal.id, addresses } } })
  return new Map(data.map(({ address, assetIds }) => [address, assetIds.slice(0, assetsPerAddress)]))
}

/**
 * The maximum number of assets at one address. Further assets are ignored, because wrong data in the inventory must not
 * block the delivery.
 */
const assetsPerAddress = credentialLimits.assetsPerSelection

function textsIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
