import {
  type Address,
  openClient,
  openConnection,
  sessionSettings,
} from '@millwright/cloud/platform/database/connection.ts'
import { createTenant } from '@millwright/cloud/platform/tenants/tenants.ts'
import { workedMicros } from './cpu-time.ts'
import type { RecordedStatement } from './statement-sender.ts'

/** Matches statements on the tables of accepted writes and applied assets. */
const aboutAssets = /\b(operations|audit_entries|assets|asset_\w+|relations|relation_counts|events|event_positions)\b/
/** Matches statements of background work that no request waits for, such as sealing the audit trail. */
const aside = /^\s*update audit_entries\b/

/** Returns the transactions of the platform that write assets, in the order in which they started. */
export function transactionsOf(sent: readonly RecordedStatement[]): RecordedStatement[][] {
  return [...Map.groupBy(sent, ({ by }) => by).values()]
    .filter((those) => !those.some(({ text }) => aside.test(text)))
    .map((those) => those.filter(({ text }) => aboutAssets.test(text)))
    .filter((those) => those.some(({ text }) => !/^\s*select\b/.test(text)))
}

type Options = { application: Address; owner: Address; tenantId: string; transactions: readonly RecordedStatement[][] }

/**
 * `ReplayResult` contains the elapsed time, and for each statement text the processor time that the database used, in
 * µs of one core. The processor time is available on Linux only.
 */
export type ReplayResult = { seconds: number; micros: [text: string, micros: number][] }

/**
 * Sends the recorded statements again for an empty tenant, with the same rows and commits. The replay uses one
 * connection and no code of the platform.
 */
export async function replay({ application, owner, tenantId, transactions }: Options): Promise<ReplayResult> {
  const other = await tenantLike(owner, tenantId)
  const { client } = await openConnection(application, { settings: sessionSettings('set') })
  await client.query(`set app.tenant = '${other}'`)
  const named = new Map<string, string>()
  const micros = new Map<string, number>()
  const { processID } = client as unknown as { processID: number }
  const costing = async (text: string, work: Promise<unknown>) => {
    const before = workedMicros(processID)
    await work
    micros.set(text, (micros.get(text) ?? 0) + workedMicros(processID) - before)
  }
  const startedAt = performance.now()
  for (const transaction of transactions) {
    client.query('begin').catch(() => {})
    for (const { text, values } of transaction) {
      const name = named.get(text) ?? `raw${named.size}`
      named.set(text, name)
      await costing(text, client.query({ name, text, values: [other, ...values.slice(1)] }))
    }
    await costing('commit', client.query('commit'))
  }
  const seconds = (performance.now() - startedAt) / 1000
  await client.end()
  return { seconds, micros: [...micros].toSorted(([, one], [, other]) => other - one) }
}

let tenants = 0

/**
 * Creates another tenant with the same access groups, so that the replayed rows do not conflict with the existing rows.
 */
async function tenantLike(address: Address, tenantId: string): Promise<string> {
  const owner = await openClient(address)
  const { id } = await createTenant(owner, { name: `raw-${tenants++}` })
  await owner.query(
    `insert into access_groups (tenant_id, id, name)
     select $2, id, name || ' of the other' from access_groups where tenant_id = $1`,
    [tenantId, id],
  )
  await owner.end()
  return id
}
