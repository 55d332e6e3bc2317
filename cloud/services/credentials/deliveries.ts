import type { credentials } from '@millwright/api/credentials.ts'
import {
  type CredentialQuestion,
  credentialLimits,
  type SelectedCredential,
} from '@millwright/api/credentials-shapes.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record, recordOutside } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { emitAll } from '../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { holdInstances, type SealedRow } from './instance-store.ts'
import { type Address, keysHolding, parseAddress, showAddress, storedRanges } from './ip-range.ts'
import { recentOfProduct, recentOfSchema } from './place-store.ts'
import { findSchemaOfProduct } from './schema-store.ts'
import { openValues } from './sealed-values.ts'
import { applies, type Candidate, select } from './selection.ts'
import { findAssociated, lockUses, type Outcome, recordDelivery, recordOutcomes } from './use-store.ts'

type Names = 'selectCredentials' | 'recordUse'

type Sealed = Candidate & { row: SealedRow }

export function deliveryHandlers(context: Context): Pick<Handlers<typeof credentials>, Names> {
  const { database } = context
  return {
    async selectCredentials({ body: { data } }, caller) {
      const address = parseAddress(data.address)
      // What is not an address is in no range.
      if (address === undefined) return { data: { known: false, credentials: [] } }
      await requireReady(context, caller, data)
      const selected = await database.transaction(caller, async (tx) => {
        const { known, chosen, withheld } = await choose(tx, data, address)
        if (chosen.length > 0 || withheld.length > 0)
          await tellDelivery(tx, caller, { question: data, address, chosen, withheld })
        return { known, credentials: await Promise.all(chosen.map(({ row }) => opened(tx, row))) }
      })
      return answer(200, { data: selected }, { 'cache-control': 'no-store' })
    },

    /** A gateway can tell only of what it was given, for the address it was given for. */
    async recordUse({ body: { data } }, caller) {
      const { gatewayId, jobId } = data
      const told = data.uses.flatMap((use) => {
        const address = parseAddress(use.address)
        return address === undefined ? [] : [{ ...use, address: showAddress(address) }]
      })
      await database.transaction(caller, async (tx) => {
        const given = new Set((await lockUses(tx, gatewayId, told)).map(placeOf))
        const uses = told.filter((use) => given.has(placeOf(use)))
        if (uses.length === 0) return
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
      })
      return answer(204)
    },
  }

  async function opened(tx: Transaction, row: SealedRow): Promise<SelectedCredential> {
    const belonging = { instanceId: row.id, schemaId: row.schemaId }
    const text = await openValues({ safe: context.safe, tx }, belonging, row.sealed)
    return { instanceId: row.id, name: row.name, schemaUri: row.schemaUri, credentials: text }
  }
}

/** Nothing is given to a gateway that never came or was sent away, and that it was asked for is on the trail. */
async function requireReady(context: Context, caller: Caller, question: CredentialQuestion): Promise<void> {
  const { gatewayId, jobId, address } = question
  try {
    const { data } = await context.peers(onboarding, caller).resolveGateway({ params: { id: gatewayId } })
    if (data.state === 'online' || data.state === 'offline') return
    throw new Problem('gateway_not_ready', `The gateway ${data.name} is ${data.state}: it is given no credentials`)
  } catch (error) {
    const isRefusal = error instanceof Problem && ['gateway_not_ready', 'not_found'].includes(error.code)
    if (isRefusal)
      await recordOutside(context.database, caller, caller, {
        action: 'credentials.deliver',
        target: `gateway/${gatewayId}`,
        outcome: 'denied',
        detail: { gatewayId, jobId, address, reason: error.code },
      })
    throw error
  }
}

async function choose(tx: Transaction, question: CredentialQuestion, address: Address) {
  const { gatewayId, product, assetIds = [] } = question
  const records = await findAssociated(tx, { gatewayId, address: showAddress(address), assetIds })
  const recent = await recentIn(tx, product, keysHolding(address))
  const rows = await holdInstances(tx, [...new Set([...records.keys(), ...recent])])
  const candidates = rows.map(candidateOf)
  const associated = candidates.flatMap((candidate) => {
    const found = records.get(candidate.id)
    return found === undefined ? [] : [{ ...candidate, ...found }]
  })
  const withheld = associated.filter((one) => !applies(one, { address, product }))
  return { ...select({ address, product }, { associated, recent: candidates }), withheld }
}

/** Those of the same version go first: only when they are too few, the others are looked for. */
async function recentIn(
  tx: Transaction,
  product: CredentialQuestion['product'],
  blocks: readonly string[],
): Promise<Set<string>> {
  const schema = await findSchemaOfProduct(tx, product)
  const found = schema === undefined ? [] : await recentOfSchema(tx, schema.id, blocks)
  const ids = new Set(found.map(({ id }) => id))
  if (ids.size >= credentialLimits.selected) return ids
  const others = await recentOfProduct(tx, product.identifier, blocks)
  return new Set([...ids, ...others.map(({ id }) => id)])
}

function candidateOf(row: SealedRow): Sealed {
  return {
    id: row.id,
    ranges: storedRanges(row.ipRanges),
    purpose: row.purpose,
    assetId: row.assetId,
    product: { identifier: row.resourceIdentifier, version: row.resourceVersion },
    modifiedAt: row.modifiedAt,
    row,
  }
}

type Delivered = {
  question: CredentialQuestion
  address: Address
  chosen: readonly Sealed[]
  /** What belongs to the device, but not at this address or with this link. */
  withheld: readonly Sealed[]
}

async function tellDelivery(
  tx: Transaction,
  caller: Caller,
  { question: { gatewayId, jobId, product }, address, chosen, withheld }: Delivered,
): Promise<void> {
  const instanceIds = chosen.map(({ id }) => id)
  const place = { gatewayId, jobId, address: showAddress(address) }
  const detail = { ...place, product, instanceIds, withheld: withheld.map(({ id }) => id) }
  const outcome = chosen.length > 0 ? 'done' : 'denied'
  await record(tx, caller, { action: 'credentials.deliver', target: `gateway/${gatewayId}`, outcome, detail })
  if (chosen.length === 0) return
  await recordDelivery(tx, { ...place, instanceIds })
  await emitAll(
    tx,
    instanceIds.map((id) => ({
      type: 'credentials.instance.delivered',
      subject: `credential-instance/${id}`,
      data: place,
    })),
  )
}

type Told = { instanceId: string; address: string; assetId?: string; worked: boolean }

function placeOf({ instanceId, address }: { instanceId: string; address: string }): string {
  return `${instanceId} ${address}`
}

/** One for each instance and address, also when a report tells of them more than once. */
function outcomesOf(uses: readonly Told[], gatewayId: string): Outcome[] {
  const outcomes = new Map<string, Outcome>()
  for (const use of uses) {
    const before = outcomes.get(placeOf(use))
    outcomes.set(placeOf(use), {
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
