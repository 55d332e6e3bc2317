import { isIP } from 'node:net'
import type { BuiltInWorkflowName } from '@millwright/api/built-in-workflows.ts'
import { credentials } from '@millwright/api/credentials.ts'
import { credentialLimits, type SelectedCredential } from '@millwright/api/credentials-shapes.ts'
import { discovery } from '@millwright/api/discovery.ts'
import type { AddressCredentials, gatekeeper, SessionCredential } from '@millwright/api/gatekeeper.ts'
import { type IpRange, isInRanges, numberOfAddress, parseIpRange } from '@millwright/api/ip-range.ts'
import { monitoring, monitoringLimits } from '@millwright/api/monitoring.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import { remoteAccess } from '@millwright/api/remote-access.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { validate as isUuid } from 'uuid'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { recordOutside } from '../../platform/audit/audit.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { ownJob, requireGateway } from './gateway.ts'
import { monitoringWorkflow } from './monitoring.ts'

/** The maximum number of addresses in the audit entry of a refused request. */
const mostAuditedAddresses = 20

type CredentialsRequest = { jobId: string; assetLinkId: string; addresses: string[]; lease: string | undefined }

/**
 * Handlers that deliver credentials to gateways. Credentials leave the cloud only through these handlers, and only for the
 * gateway and the link of a running job.
 */
export function credentialHandlers(
  context: Context,
): Pick<Handlers<typeof gatekeeper>, 'requestCredentials' | 'requestSessionCredentials'> {
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

    async requestSessionCredentials({ params: { id } }, caller) {
      const chosen = await chosenFor(context, caller, id).catch(async (error: unknown) => {
        if (error instanceof Problem && error.status < 500) await recordSessionDenial(context, caller, { id, error })
        throw error
      })
      if (chosen === null) return answer(200, { data: null }, { 'cache-control': 'no-store' })
      const request = { ...chosen, gatewayId: caller.principal.id }
      const { data } = await context.peers(credentials, actorOf(caller)).deliverChosen({ body: { data: request } })
      const credential = data === null ? null : withoutName(data)
      return answer(200, { data: credential }, { 'cache-control': 'no-store' })
    },
  }
}

/** Returns the credential that the user of a remote session of this gateway chose. */
async function chosenFor(context: Context, caller: Caller, id: string) {
  const { data } = await context
    .peers(remoteAccess, systemCaller(caller))
    .resolveCredential({ params: { id, gatewayId: caller.principal.id } })
  return data
}

function withoutName({ name: _, ...credential }: SelectedCredential): SessionCredential {
  return credential
}

async function recordSessionDenial(
  { database }: Context,
  caller: Caller,
  { id, error }: { id: string; error: Problem },
): Promise<void> {
  await recordOutside(database, caller, caller, {
    action: 'gatekeeper.requestSessionCredentials',
    target: `remote-session/${id}`,
    outcome: 'denied',
    detail: { code: error.code },
  })
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

/** The workflows of the jobs for which credentials are delivered, with the states in which a gateway works on a device. */
const deliveryStates: ReadonlyMap<string, readonly string[]> = new Map<BuiltInWorkflowName, readonly string[]>([
  ['artefact-retrieval', ['RUNNING']],
  ['artefact-update', ['PREPARING', 'ACTIVATE', 'ACTIVATING', 'VERIFYING', 'CANCELING']],
  ['device-info', ['RUNNING']],
  ['discovery', ['RUNNING']],
  ['monitoring', ['RUNNING']],
])

type Product = { identifier: string; version: string }
/**
 * A permitted delivery. `assetId` is the asset of a job for one device. `product` is null if the gateway has not reported
 * the link or its product.
 */
type PermittedDelivery = {
  assetId?: string
  product: Product | null
  /** Whether the job is a monitoring job. It gets only credentials of the template of the monitoring. */
  isMonitoring: boolean
  /** The only instance that a job may get. It is set for a test of the instance. */
  instanceId?: string | undefined
  /** The ranges of a discovery job. Addresses outside of them get no credentials. It is absent if the job has no range. */
  ranges?: readonly IpRange[] | undefined
}

/**
 * Checks the job and its lease, and compares the job with the stored data. For a discovery job, the run must belong to
 * a discovery of this gateway and link. A test of credentials names its credential instance. For the other jobs, the link
 * must have found the asset. Throws when the gateway may not get the credentials.
 */
async function allow(context: Context, caller: Caller, request: CredentialsRequest): Promise<PermittedDelivery> {
  requireGateway(caller)
  const { workflow, definition, status } = await ownJob(context, caller, request.jobId)
  const states = deliveryStates.get(workflow.name)
  if (states === undefined)
    throw new Problem('forbidden', `Gateways receive no device credentials for jobs of the workflow ${workflow.name}`)
  // A monitoring job reads devices through several links. The monitoring service knows the link of each target.
  const isMonitoring = workflow.name === monitoringWorkflow
  if (!isMonitoring && definition.assetLinkId !== request.assetLinkId)
    throw new Problem(
      'forbidden',
      `Job ${request.jobId} is not for asset link ${request.assetLinkId}. Request credentials only for the asset link of the job.`,
    )
  const isForDevice = !isMonitoring && workflow.name !== 'discovery'
  if (isForDevice && !request.addresses.every((one) => textsIn(definition.addresses).includes(one)))
    throw new Problem(
      'forbidden',
      `Job ${request.jobId} is for a device at another address. Request credentials only for the addresses of the job.`,
    )
  if (!states.includes(status.state))
    throw new Problem(
      'conflict',
      `Job ${request.jobId} is in the state ${status.state}. Credentials are delivered only while a job is in the state ${states.join(' or ')}.`,
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
  const isTest = workflow.name === 'device-info' && definition.credentialTest === true
  const instanceId = isTest ? idOf(definition.instanceId) : undefined
  const subject = isTest ? {} : subjectOf(workflow.name, definition)
  const { data: product } = await context.peers(discovery, systemCaller(caller)).resolveLink({
    params: { gatewayId: caller.principal.id },
    query: { assetLinkId: request.assetLinkId, ...subject },
  })
  return {
    ...subject,
    product,
    isMonitoring,
    instanceId,
    ranges: workflow.name === 'discovery' ? rangesIn(definition.filters) : undefined,
  }
}

/** Returns the run or the asset of a job. A monitoring job has several assets, which its run knows. */
function subjectOf(
  workflow: string,
  { runId, assetId }: Record<string, unknown>,
): { runId?: string; assetId?: string } {
  if (workflow === monitoringWorkflow) return {}
  return workflow === 'discovery' ? { runId: idOf(runId) } : { assetId: idOf(assetId) }
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
  throw new Problem('forbidden', 'The definition of the job contains no discovery run, asset or credential instance')
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
  {
    allowed: { assetId, product, isMonitoring, instanceId, ranges },
    request,
  }: { allowed: PermittedDelivery; request: CredentialsRequest },
): Promise<AddressCredentials[]> {
  const none = (address: string) => ({ address, known: false, credentials: [] })
  if (isMonitoring && product !== null) return chooseOfTemplate(context, caller, { product, request })
  if (instanceId !== undefined && product !== null) {
    const devices = request.addresses.map((address) => ({ address, assetIds: [] }))
    return deliver(context, caller, { request, selection: { product, instanceId, devices } })
  }
  const inScan = request.addresses.filter((address) => isInScan(address, ranges))
  if (product === null || inScan.length === 0) return request.addresses.map(none)
  const devices = await devicesAt(context, caller, { assetId, assetLinkId: request.assetLinkId, addresses: inScan })
  if (devices.length === 0) return request.addresses.map(none)
  return deliver(context, caller, { request, selection: { product, devices } })
}

/**
 * Delivers credentials of the template of a monitoring. An address gets credentials only if the link found a device there that
 * the job reads, and has no result yet.
 */
async function chooseOfTemplate(
  context: Context,
  caller: Caller,
  { product, request }: { product: Product; request: CredentialsRequest },
): Promise<AddressCredentials[]> {
  const { assetLinkId, addresses, jobId } = request
  const gatewayId = caller.principal.id
  const { data: found } = await context
    .peers(discovery, systemCaller(caller))
    .findDevices({ params: { gatewayId }, body: { data: { assetLinkId, addresses } } })
  const assetIds = [...new Set(found.flatMap(({ assets }) => assets.map((asset) => asset.assetId)))]
  const { data: targets } = await context.peers(monitoring, systemCaller(caller)).findRunTargets({
    params: { jobId },
    body: { data: { gatewayId, assetLinkId, assetIds: assetIds.slice(0, monitoringLimits.credentialTargets) } },
  })
  const monitored = new Set(targets.assetIds)
  const devices = found.flatMap(({ address, assets }): Device[] =>
    assets.some(({ assetId }) => monitored.has(assetId)) ? [{ address, assetIds: [] }] : [],
  )
  const { instancesTemplateId } = targets
  if (instancesTemplateId === undefined || devices.length === 0)
    return addresses.map((address) => ({ address, known: false, credentials: [] }))
  return deliver(context, caller, { request, selection: { product, instancesTemplateId, devices } })
}

type DeliveredSelection = {
  request: CredentialsRequest
  selection: { product: Product; instancesTemplateId?: string; instanceId?: string; devices: Device[] }
}

/** Selects and delivers the credentials for devices. Returns one result for each address of the request. */
async function deliver(
  context: Context,
  caller: Caller,
  { request, selection }: DeliveredSelection,
): Promise<AddressCredentials[]> {
  const { id: gatewayId } = caller.principal
  const { data } = await context
    .peers(credentials, actorOf(caller))
    .selectCredentials({ body: { data: { jobId: request.jobId, gatewayId, ...selection } } })
  const delivered = selection.devices.map(({ address }, index): AddressCredentials => {
    const { known = false, credentials: chosen = [] } = data[index] ?? {}
    return { address, known, credentials: chosen.map(withoutName) }
  })
  const byAddress = new Map(delivered.map((one) => [one.address, one]))
  return request.addresses.map((address) => byAddress.get(address) ?? { address, known: false, credentials: [] })
}

/** Returns the caller with which the credentials service records a delivery: the platform, in the name of the gateway. */
function actorOf({ tenantId, tenantName, principal, request }: Caller): Caller {
  return {
    ...systemCaller({ tenantId, tenantName }),
    principal: { id: principal.id, kind: 'system', name: `gateway ${principal.name}` },
    request,
  }
}

type Places = { assetId: string | undefined; assetLinkId: string; addresses: string[] }
type Device = { address: string; assetIds: string[] }

/**
 * Returns the devices that may get credentials, with the assets whose own credentials they get. A device reports its
 * identifiers and further addresses itself, so only the addresses at which the link found devices count. The credentials
 * of an asset are delivered only for the address at which it was found first. A job for one device gets credentials only
 * for addresses at which the link found the asset of the job.
 */
async function devicesAt(
  context: Context,
  caller: Caller,
  { assetId, assetLinkId, addresses }: Places,
): Promise<Device[]> {
  const { data } = await context.peers(discovery, systemCaller(caller)).findDevices({
    params: { gatewayId: caller.principal.id },
    body: { data: { assetLinkId, addresses } },
  })
  return data.flatMap(({ address, assets }): Device[] => {
    const here = assets.filter((asset) => assetId === undefined || asset.assetId === assetId)
    if (assetId !== undefined && here.length === 0) return []
    const own = here.filter(({ isOwn }) => isOwn).map((asset) => asset.assetId)
    return [{ address, assetIds: own.slice(0, assetsPerAddress) }]
  })
}

/**
 * The maximum number of assets at one address. Further assets are ignored, because wrong data in the inventory must not
 * block the delivery.
 */
const assetsPerAddress = credentialLimits.assetsPerSelection

function textsIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
