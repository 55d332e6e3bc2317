import type { credentials } from '@millwright/api/credentials.ts'
import type { CredentialRequest, DeviceCredentials, SelectedCredential } from '@millwright/api/credentials-shapes.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record, recordAll, recordOutside } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { emitAll } from '../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { type Choice, choose, deviceOf } from './choice.ts'
import type { SealedRow } from './instance-store.ts'
import { parseAddress, showAddress } from './ip-range.ts'
import { openValues } from './sealed-values.ts'
import { type Given, lockUses, type Outcome, recordDelivery, recordOutcomes } from './use-store.ts'

type Names = 'selectCredentials' | 'recordUse'

/** What a request that was refused says of itself in the audit trail. */
const addressesTold = 20

export function deliveryHandlers(context: Context): Pick<Handlers<typeof credentials>, Names> {
  const { database } = context
  return {
    async selectCredentials({ body: { data } }, caller) {
      await requireReady(context, caller, data)
      const devices = data.devices.map(deviceOf)
      const selected = await database.transaction(caller, async (tx) => {
        const choices = await choose(
          tx,
          data,
          devices.filter((device) => device !== undefined),
        )
        await tellDeliveries(tx, caller, { question: data, choices })
        const credentials = await opened(tx, choices)
        return devices.map((device): DeviceCredentials => {
          const choice = choices.find((one) => one.device === device)
          if (choice === undefined) return { known: false, credentials: [] }
          return { known: choice.known, credentials: choice.chosen.flatMap(({ id }) => credentials.get(id) ?? []) }
        })
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

  /** What was chosen, by its id: opened once, for however many devices it is. */
  async function opened(tx: Transaction, choices: readonly Choice[]): Promise<Map<string, SelectedCredential>> {
    const rows = new Map(choices.flatMap(({ chosen }) => chosen.map(({ row }) => [row.id, row] as const)))
    const credentials = await Promise.all([...rows.values()].map((row) => open(tx, row)))
    return new Map(credentials.map((credential) => [credential.instanceId, credential]))
  }

  async function open(tx: Transaction, row: SealedRow): Promise<SelectedCredential> {
    const belonging = { instanceId: row.id, schemaId: row.schemaId }
    const text = await openValues({ safe: context.safe, tx }, belonging, row.sealed)
    return { instanceId: row.id, name: row.name, schemaUri: row.schemaUri, credentials: text }
  }
}

/** Nothing is given to a gateway that never came or was sent away, and that it was asked for is on the trail. */
async function requireReady(context: Context, caller: Caller, question: CredentialRequest): Promise<void> {
  const { gatewayId, jobId, devices } = question
  try {
    const { data } = await context.peers(onboarding, caller).resolveGateway({ params: { id: gatewayId } })
    if (data.state === 'online' || data.state === 'offline') return
    throw new Problem('gateway_not_ready', `The gateway ${data.name} is ${data.state}: it is given no credentials`)
  } catch (error) {
    const isRefusal = error instanceof Problem && ['gateway_not_ready', 'not_found'].includes(error.code)
    if (isRefusal) {
      const addresses = devices.slice(0, addressesTold).map(({ address }) => address)
      await recordOutside(context.database, caller, caller, {
        action: 'credentials.deliver',
        target: `gateway/${gatewayId}`,
        outcome: 'denied',
        detail: { gatewayId, jobId, addresses, asked: devices.length, reason: error.code },
      })
    }
    throw error
  }
}

type Delivered = { question: CredentialRequest; choices: readonly Choice[] }

/** An entry for each device, and an event for each instance that is given for it. */
async function tellDeliveries(tx: Transaction, caller: Caller, { question, choices }: Delivered): Promise<void> {
  const { gatewayId, jobId, product } = question
  const told = choices.filter(({ chosen, withheld }) => chosen.length > 0 || withheld.length > 0)
  if (told.length === 0) return
  await recordAll(
    tx,
    told.map(({ device: { address }, chosen, withheld }) => ({
      who: caller,
      action: 'credentials.deliver',
      target: `gateway/${gatewayId}`,
      outcome: chosen.length > 0 ? ('done' as const) : ('denied' as const),
      detail: { gatewayId, jobId, address, product, instanceIds: idsOf(chosen), withheld: idsOf(withheld) },
    })),
  )
  const given = givenIn(choices)
  if (given.length === 0) return
  await recordDelivery(tx, { gatewayId, jobId, given })
  await emitAll(
    tx,
    given.map(({ instanceId, address }) => ({
      type: 'credentials.instance.delivered',
      subject: `credential-instance/${instanceId}`,
      data: { gatewayId, jobId, address },
    })),
  )
}

function idsOf(list: readonly { id: string }[]): string[] {
  return list.map(({ id }) => id)
}

/** Each once, also when an address was asked for twice, in the order of ids and addresses. */
function givenIn(choices: readonly Choice[]): Given[] {
  const all = choices.flatMap(({ device: { address }, chosen }) =>
    chosen.map(({ id }) => ({ instanceId: id, address })),
  )
  const byPlace = new Map(all.map((given) => [placeOf(given), given]))
  return [...byPlace].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, given]) => given)
}

type Told = { instanceId: string; address: string; assetId?: string; worked: boolean }

function placeOf({ instanceId, address }: Given): string {
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
