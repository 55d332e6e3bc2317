import type { credentials } from '@millwright/api/credentials.ts'
import type { CredentialRequest, DeviceCredentials, SelectedCredential } from '@millwright/api/credentials-shapes.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record, recordAll, recordOutside } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { emitAll } from '../../platform/events/events.ts'
import type { Safe } from '../../platform/secrets/safe.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { type Choice, choose, deviceOf } from './choice.ts'
import type { SealedRow } from './instance-store.ts'
import { parseAddress, showAddress } from './ip-range.ts'
import { openValues } from './sealed-values.ts'
import { type DeliveredInstance, lockUses, type Outcome, recordDelivery, recordOutcomes } from './use-store.ts'

type Operations = 'selectCredentials' | 'recordUse'

/** The maximum number of addresses in the audit entry of a refused request. */
const mostAuditedAddresses = 20

export function deliveryHandlers(context: Context): Pick<Handlers<typeof credentials>, Operations> {
  const { database } = context
  return {
    async selectCredentials({ body: { data } }, caller) {
      const addresses = data.devices.map(({ address }) => address)
      await requireEnrolled(context, caller, { ...data, addresses })
      const devices = data.devices.map(deviceOf)
      const selected = await database.transaction(caller, async (tx) => {
        const choices = await choose(
          tx,
          data,
          devices.filter((device) => device !== undefined),
        )
        await reportDeliveries(tx, caller, { request: data, choices })
        const credentials = await opened(tx, choices)
        return devices.map((device): DeviceCredentials => {
          const choice = choices.find((one) => one.device === device)
          if (choice === undefined) return { known: false, credentials: [] }
          return { known: choice.known, credentials: choice.chosen.flatMap(({ id }) => credentials.get(id) ?? []) }
        })
      })
      return answer(200, { data: selected }, { 'cache-control': 'no-store' })
    },

    /**
     * Records whether delivered instances worked. Ignores instances that were not delivered to this gateway for this
     * address.
     */
    async recordUse({ body: { data } }, caller) {
      const { gatewayId, jobId } = data
      const reported = data.uses.flatMap((use) => {
        const address = parseAddress(use.address)
        return address === undefined ? [] : [{ ...use, address: showAddress(address) }]
      })
      const recorded = await database.transaction(caller, async (tx) => {
        const delivered = new Set((await lockUses(tx, gatewayId, reported)).map(deliveryKey))
        const uses = reported.filter((use) => delivered.has(deliveryKey(use)))
        if (uses.length === 0) return []
        await recordOutcomes(tx, outcomesOf(uses, gatewayId))
        const detail = { gatewayId, jobId, uses }
        await record(tx, caller, { action: 'credentials.recordUse', target: `gateway/${gatewayId}`, detail })
        await emitAll(
          tx,
          uses.map(({ instanceId, worked, ...use }) => ({
            type: `credentials.instance.${worked ? 'worked' : 'failed'}`,
            subject: `credential-instance/${instanceId}`,
            data: { gatewayId, jobId, ...use },
          })),
        )
        return uses
      })
      return { data: { recorded } }
    },
  }

  /** Decrypts each chosen instance once and returns the credentials by instance id. */
  async function opened(tx: Transaction, choices: readonly Choice[]): Promise<Map<string, SelectedCredential>> {
    const rows = new Map(choices.flatMap(({ chosen }) => chosen.map(({ row }) => [row.id, row] as const)))
    const credentials = await Promise.all([...rows.values()].map((row) => openInstance(context.safe, tx, row)))
    return new Map(credentials.map((credential) => [credential.instanceId, credential]))
  }
}

/** Decrypts an instance for its delivery. */
export async function openInstance(safe: Safe, tx: Transaction, row: SealedRow): Promise<SelectedCredential> {
  const binding = { instanceId: row.id, schemaId: row.schemaId }
  const text = await openValues({ safe, tx }, binding, row.sealed)
  return { instanceId: row.id, name: row.name, schemaUri: row.schemaUri, credentials: text }
}

type DeliveryRequest = { gatewayId: string; jobId: string; addresses: readonly string[] }

/** Refuses a delivery to a gateway that has not enrolled or is revoked, and records the request in the audit trail. */
export async function requireEnrolled(
  context: Context,
  caller: Caller,
  { gatewayId, jobId, addresses }: DeliveryRequest,
): Promise<void> {
  try {
    const { data } = await context.peers(onboarding, caller).resolveGateway({ params: { id: gatewayId } })
    if (data.state === 'online' || data.state === 'offline') return
    throw new Problem(
      'gateway_not_ready',
      `Gateway ${data.name} is ${data.state}. Only enrolled gateways receive credentials.`,
    )
  } catch (error) {
    const isRefusal = error instanceof Problem && ['gateway_not_ready', 'not_found'].includes(error.code)
    if (isRefusal) {
      await recordOutside(context.database, caller, caller, {
        action: 'credentials.deliver',
        target: `gateway/${gatewayId}`,
        outcome: 'denied',
        detail: {
          gatewayId,
          jobId,
          addresses: addresses.slice(0, mostAuditedAddresses),
          asked: addresses.length,
          reason: error.code,
        },
      })
    }
    throw error
  }
}

type DeliveryReport = { request: CredentialRequest; choices: readonly Choice[] }

/**
 * Writes an audit entry for each device that has chosen or withheld instances, and an event for each delivered
 * instance.
 */
async function reportDeliveries(tx: Transaction, caller: Caller, { request, choices }: DeliveryReport): Promise<void> {
  const { gatewayId, jobId, product } = request
  const relevant = choices.filter(({ chosen, withheld }) => chosen.length > 0 || withheld.length > 0)
  if (relevant.length === 0) return
  await recordAll(
    tx,
    relevant.map(({ device: { address }, chosen, withheld }) => ({
      who: caller,
      action: 'credentials.deliver',
      target: `gateway/${gatewayId}`,
      outcome: chosen.length > 0 ? ('done' as const) : ('denied' as const),
      detail: { gatewayId, jobId, address, product, instanceIds: idsOf(chosen), withheld: idsOf(withheld) },
    })),
  )
  const delivered = deliveredInstances(choices)
  if (delivered.length === 0) return
  await recordDelivery(tx, { gatewayId, jobId, instances: delivered })
  await emitAll(
    tx,
    delivered.map(({ instanceId, address }) => ({
      type: 'credentials.instance.delivered',
      subject: `credential-instance/${instanceId}`,
      data: { gatewayId, jobId, address },
    })),
  )
}

function idsOf(list: readonly { id: string }[]): string[] {
  return list.map(({ id }) => id)
}

/**
 * Returns each pair of instance and address once, even if an address is repeated. The pairs are sorted by instance id
 * and address.
 */
function deliveredInstances(choices: readonly Choice[]): DeliveredInstance[] {
  const all = choices.flatMap(({ device: { address }, chosen }) =>
    chosen.map(({ id }) => ({ instanceId: id, address })),
  )
  const byKey = new Map(all.map((delivered) => [deliveryKey(delivered), delivered]))
  return [...byKey].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, delivered]) => delivered)
}

type ReportedUse = { instanceId: string; address: string; assetId?: string; worked: boolean }

function deliveryKey({ instanceId, address }: DeliveredInstance): string {
  return `${instanceId} ${address}`
}

/** Returns one outcome for each instance and address, even if a report contains the pair several times. */
function outcomesOf(uses: readonly ReportedUse[], gatewayId: string): Outcome[] {
  const outcomes = new Map<string, Outcome>()
  for (const use of uses) {
    const before = outcomes.get(deliveryKey(use))
    outcomes.set(deliveryKey(use), {
      gatewayId,
      instanceId: use.instanceId,
      address: use.address,
      assetId: use.assetId ?? before?.assetId ?? null,
      successes: (before?.successes ?? 0) + Number(use.worked),
      failures: (before?.failures ?? 0) + Number(!use.worked),
    })
  }
  return [...outcomes.values()]
}
