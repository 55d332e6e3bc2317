import { isIP } from 'node:net'
import { credentials } from '@millwright/api/credentials.ts'
import { credentialLimits } from '@millwright/api/credentials-shapes.ts'
import { discovery } from '@millwright/api/discovery.ts'
import type { AddressCredentials, gatekeeper } from '@millwright/api/gatekeeper.ts'
import { inventory } from '@millwright/api/inventory.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { validate as isUuid } from 'uuid'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { recordOutside } from '../../platform/audit/audit.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { ownJob, requireGateway } from './gateway.ts'

/** What a request that was refused says of itself in the audit trail. */
const addressesTold = 20

type Wanted = { jobId: string; assetLinkId: string; addresses: string[]; lease: string | undefined }

/** Credentials leave the cloud here and nowhere else: for the gateway and the link of a job, while it runs. */
export function credentialHandlers(context: Context): Pick<Handlers<typeof gatekeeper>, 'requestCredentials'> {
  return {
    async requestCredentials({ params: { id }, body: { data } }, caller) {
      const addresses = addressesOf(data)
      const wanted = { jobId: id, assetLinkId: data.assetLinkId, addresses, lease: data.lease }
      const allowed = await allow(context, caller, wanted).catch(async (error: unknown) => {
        if (error instanceof Problem && error.status < 500) await tellDenied(context, caller, { wanted, error })
        throw error
      })
      return answer(200, { data: await choose(context, caller, { allowed, wanted }) }, { 'cache-control': 'no-store' })
    },
  }
}

function addressesOf({ address, addresses }: { address?: string; addresses?: string[] }): string[] {
  const given = addresses ?? (address === undefined ? [] : [address])
  const wrong = (pointer: string, detail: string): FieldError => ({ pointer, code: 'invalid', detail })
  const errors = given.flatMap((one, index) =>
    isIP(one) === 0
      ? [wrong(addresses === undefined ? '/data/address' : `/data/addresses/${index}`, 'is no IP address')]
      : [],
  )
  if ((address === undefined) === (addresses === undefined)) {
    errors.push(wrong('/data', 'has either address or addresses'))
  }
  if (errors[0] === undefined) return given
  throw new Problem('invalid_body', `${errors[0].pointer} ${errors[0].detail}`, { errors })
}

type Product = { identifier: string; version: string }
/** `assetId`: the asset that a device-info job is about. `product` is null when the gateway does not report the link. */
type Allowed = { assetId?: string; product: Product | null }

/**
 * Checks the job, its lease and the data that the platform stores itself: the discovery of the run, or that the link found
 * the asset. Throws when the gateway may not have the credentials.
 */
async function allow(context: Context, caller: Caller, wanted: Wanted): Promise<Allowed> {
  requireGateway(caller)
  const { workflow, definition, status } = await ownJob(context, caller, wanted.jobId)
  if (workflow.name !== 'discovery' && workflow.name !== 'device-info')
    throw new Problem('forbidden', 'This job needs no credentials of devices')
  if (definition.assetLinkId !== wanted.assetLinkId)
    throw new Problem('forbidden', 'The job is for another link: there are no credentials for this one')
  if (workflow.name === 'device-info' && !wanted.addresses.every((one) => textsIn(definition.addresses).includes(one)))
    throw new Problem('forbidden', 'The job is about a device at another address')
  if (status.state !== 'RUNNING')
    throw new Problem('conflict', `The job is ${status.state}: credentials are given out while it runs`)
  const { data: lease } = await context.peers(workflows, systemCaller(caller)).readLease({
    params: { id: wanted.jobId },
    query: { clientId: caller.principal.id },
  })
  if (lease === null || (wanted.lease !== undefined && wanted.lease !== lease.id))
    throw new Problem('lease_lost', `The job ${wanted.jobId} is not held by this lease any more`)
  const { runId, assetId } = definition
  const subject = workflow.name === 'discovery' ? { runId: idOf(runId) } : { assetId: idOf(assetId) }
  const { data: product } = await context.peers(discovery, systemCaller(caller)).resolveLink({
    params: { gatewayId: caller.principal.id },
    query: { assetLinkId: wanted.assetLinkId, ...subject },
  })
  return { ...subject, product }
}

function idOf(value: unknown): string {
  if (typeof value === 'string' && isUuid(value)) return value
  throw new Problem('forbidden', 'The job names neither a discovery run nor an asset')
}

async function tellDenied(
  { database }: Context,
  caller: Caller,
  { wanted, error }: { wanted: Wanted; error: Problem },
): Promise<void> {
  const { assetLinkId, addresses } = wanted
  await recordOutside(database, caller, caller, {
    action: 'gatekeeper.requestCredentials',
    target: `job/${wanted.jobId}`,
    outcome: 'denied',
    detail: { assetLinkId, addresses: addresses.slice(0, addressesTold), asked: addresses.length, code: error.code },
  })
}

/** Each delivery is in the audit trail in the name of the gateway: the credentials service puts it there. */
async function choose(
  context: Context,
  caller: Caller,
  { allowed: { assetId, product }, wanted }: { allowed: Allowed; wanted: Wanted },
): Promise<AddressCredentials[]> {
  const { id: gatewayId } = caller.principal
  const { addresses } = wanted
  const system = systemCaller(caller)
  if (product === null) return addresses.map((address) => ({ address, known: false, credentials: [] }))
  const there = await assetsAt(context, caller, { assetId, addresses })
  const actor: Caller = {
    ...system,
    principal: { id: gatewayId, kind: 'system', name: `gateway ${caller.principal.name}` },
    request: caller.request,
  }
  const devices = addresses.map((address) => ({ address, assetIds: there.get(address) ?? [] }))
  const { data } = await context
    .peers(credentials, actor)
    .selectCredentials({ body: { data: { jobId: wanted.jobId, gatewayId, product, devices } } })
  return addresses.map((address, index) => {
    const { known = false, credentials: chosen = [] } = data[index] ?? {}
    return { address, known, credentials: chosen.map(({ name: _, ...credential }) => credential) }
  })
}

type Places = { assetId: string | undefined; addresses: string[] }

/** Which known assets are at which address, in one question: what this gateway found, or the asset that a job is about. */
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

/** More assets at one address than a question may name are a mistake, and no reason to refuse. */
const assetsPerAddress = credentialLimits.assetsPerSelection

function textsIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
