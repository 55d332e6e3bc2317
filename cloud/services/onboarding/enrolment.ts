import { createHash, randomBytes } from 'node:crypto'
import { identity } from '@millwright/api/identity.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { GatewayKey, onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import { calculateJwkThumbprint, compactVerify, importJWK, type JWK } from 'jose'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { type Attempt, Attempts } from '../../platform/attempts.ts'
import { record } from '../../platform/audit/audit.ts'
import { emit } from '../../platform/events/events.ts'
import { sameBytes } from '../../platform/secrets/secrets.ts'
import type { AnonymousCaller, Context, Handlers } from '../../platform/service.ts'
import { WindowLimit } from '../../platform/window-limit.ts'
import { reachabilityTopic } from './reachability.ts'
import * as store from './store.ts'

/** The interval in which the audit trail records at most one refused enrolment of a gateway. */
const auditedEveryMs = 10_000

type Enrolment = { gatewayId: string; enrolmentToken: string; publicKey: GatewayKey; proof: string; version: string }

/** Creates an enrolment token of 256 random bits. Secret scanners recognise its prefix. */
export function createEnrolmentToken(): string {
  return `mwe_${randomBytes(32).toString('base64url')}`
}

export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

export function enrolmentHandlers(context: Context): Pick<Handlers<typeof onboarding>, 'enrol'> {
  const attempts = new Attempts({ shared: { name: 'enrolments', counts: context.sharedCounts } })
  const audited = new WindowLimit({ most: 1, windowMs: auditedEveryMs })

  /** Limits refused enrolments for each address and gateway. An attempt counts as refused until it has succeeded. */
  const limited = async <Result>(attempt: Attempt, work: () => Promise<Result>): Promise<Result> => {
    const retryAfter = attempts.waitFor(attempt)
    if (retryAfter > 0)
      throw new Problem('too_many_requests', 'Too many refused enrolments. Retry later.', { retryAfter })
    attempts.failed(attempt)
    try {
      const result = await work()
      attempts.succeeded(attempt, { counted: true })
      return result
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'enrolment_refused') attempts.uncount(attempt)
      throw error
    }
  }

  return {
    enrol: ({ body: { data } }, visitor) =>
      limited({ subject: data.gatewayId, address: visitor.request.address }, () => enrolled(data, visitor)),
  }

  async function enrolled(data: Enrolment, visitor: AnonymousCaller) {
    const place = await context.tenants.lookUp('gateway', data.gatewayId)
    const tenant = place === undefined ? undefined : await context.tenants.byId(place.tenantId)
    // A missing gateway and a wrong token return the same error, so that the error does not reveal which gateways exist.
    if (tenant === undefined)
      throw enrolmentRefused('The gateway-config.json does not belong to a gateway that waits for enrolment')
    if (tenant.state !== 'active') throw new Problem('tenant_suspended', `The tenant ${tenant.name} is suspended`)
    const system = systemCaller({ tenantId: tenant.id, tenantName: tenant.name })
    const thumbprint = await requireProof(data)
    await requireWaiting(context, { system, visitor, audited }, { data, thumbprint })
    // Only one of two concurrent enrolments succeeds, and only its key is stored.
    const { name } = await enter(context, { system, visitor }, { data, thumbprint })
    const { data: made } = await context.peers(identity, system).putGateway({
      params: { id: data.gatewayId },
      body: { data: { name, publicKey: data.publicKey } },
    })
    await trust(context, system, { id: data.gatewayId, state: 'trusted' })
    await writeVersion(context, system, { id: data.gatewayId, version: data.version })
    return { data: { gatewayId: data.gatewayId, tenantName: tenant.name, clientId: made.clientId } }
  }
}

/**
 * Requires that the sender has the private key of the sent public key. The configuration file alone is not enough to
 * enrol. Returns the thumbprint of the key.
 */
async function requireProof({ publicKey, proof, gatewayId, enrolmentToken }: Enrolment): Promise<string> {
  const jwk = publicKey as JWK
  try {
    const { payload } = await compactVerify(proof, await importJWK(jwk, 'ES256'), { algorithms: ['ES256'] })
    const content = JSON.parse(new TextDecoder().decode(payload)) as Partial<Enrolment>
    if (content.gatewayId === gatewayId && content.enrolmentToken === enrolmentToken)
      return await calculateJwkThumbprint(jwk, 'sha256')
  } catch {
    // An invalid proof is refused after this block.
  }
  throw enrolmentRefused('The proof is not signed with the public key in the request')
}

type EnrolmentSender = { system: Caller; visitor: AnonymousCaller }
type EnrolmentFile = { data: Enrolment; thumbprint: string }

/**
 * Refuses an enrolment with an invalid configuration file. The audit trail records at most one entry for each gateway
 * and interval, independent of the number of attempts.
 */
async function requireWaiting(
  { database }: Context,
  { system, visitor, audited }: EnrolmentSender & { audited: WindowLimit },
  { data, thumbprint }: EnrolmentFile,
) {
  const row = await database.read(system, (handle) => store.findGateway(handle, data.gatewayId))
  const why = refusalReason(row, { data, thumbprint })
  if (why === undefined) return
  if (!audited.take(data.gatewayId)) throw enrolmentRefused(why)
  await database.transaction(system, (tx) =>
    record(tx, actorOf(data.gatewayId, visitor), {
      action: 'onboarding.enrol',
      target: `gateway/${data.gatewayId}`,
      outcome: 'denied',
      detail: { reason: why },
    }),
  )
  throw enrolmentRefused(why)
}

function refusalReason(row: store.GatewayRow | undefined, { data, thumbprint }: EnrolmentFile): string | undefined {
  const isRight = row?.enrolmentHash != null && sameBytes(row.enrolmentHash, hashOf(data.enrolmentToken))
  if (row === undefined || !isRight)
    return 'The gateway-config.json does not belong to a gateway that waits for enrolment'
  // The file was already used. The same key may enrol again, because the gateway may not have received the first response.
  if (row.configExpiresAt === null)
    return row.keyThumbprint === thumbprint ? undefined : 'The gateway-config.json was already used'
  if (Date.parse(row.configExpiresAt) <= Date.now())
    return 'The gateway-config.json has expired. Create a new gateway-config.json'
  return undefined
}

async function enter({ database }: Context, { system, visitor }: EnrolmentSender, { data, thumbprint }: EnrolmentFile) {
  const { gatewayId: id, version } = data
  return database.transaction(system, async (tx) => {
    const before = await store.lockGateway(tx, id)
    const why = refusalReason(before, { data, thumbprint })
    if (why !== undefined) throw enrolmentRefused(why)
    const row = await store.setEnrolled(tx, { id, thumbprint, version })
    if (row === undefined)
      throw enrolmentRefused('The gateway-config.json does not belong to a gateway that waits for enrolment')
    tx.signal(reachabilityTopic)
    await record(tx, actorOf(id, visitor), {
      action: 'onboarding.enrol',
      target: `gateway/${id}`,
      detail: { thumbprint, version },
    })
    await emit(tx, { type: 'onboarding.gateway.enrolled', subject: `gateway/${id}`, data: { version, thumbprint } })
    return row
  })
}

function actorOf(gatewayId: string, { request }: AnonymousCaller) {
  return { principal: { id: gatewayId, kind: 'gateway' as const, name: `gateway ${gatewayId}` }, request }
}

/** Sets the trust state of the gateway's asset. Does nothing if the asset is deleted. */
export async function trust(
  context: Context,
  caller: Caller,
  { id, state }: { id: string; state: 'trusted' | 'failed' },
): Promise<void> {
  await context
    .peers(inventory, caller)
    .setTrustState({ params: { id }, body: { data: { state_value: state } } })
    .catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== 'not_found') throw error
    })
}

/** Writes the version to the gateway's asset. Returns whether the inventory accepted the write. */
export async function writeVersion(
  context: Context,
  caller: Caller,
  { id, version }: { id: string; version: string },
): Promise<boolean> {
  try {
    await context.peers(inventory, caller).setGatewayVersion({ params: { id }, body: { data: { version } } })
    return true
  } catch (error) {
    context.log.warn({ gateway: id, error }, 'the version of the gateway was not written to its asset')
    return false
  }
}

function enrolmentRefused(detail: string): Problem {
  return new Problem('enrolment_refused', detail)
}
