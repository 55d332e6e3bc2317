import { setTimeout } from 'node:timers/promises'
import { type Address, openClient } from '@millwright/cloud/platform/database/connection.ts'
import type { Database, Scope } from '@millwright/cloud/platform/database/database.ts'
import { statement } from '@millwright/cloud/platform/database/statement.ts'
import { bulkLoad } from '@millwright/cloud/services/inventory/writes/bulk-load.ts'
import { anyQueued } from '@millwright/cloud/services/inventory/writes/queue-store.ts'
import { readCloudConfiguration } from '@millwright/cloud/settings.ts'
import { plantAssets, plantProperty, plantSource } from '@millwright/links/plant/generator.ts'
import { withoutIndexes } from './indexes.ts'
import type { InventoryCommand, ProcessLoad } from './platform-process.ts'
import { databaseCpuMicros, type Sent } from './raw.ts'
import type { Places } from './reference-process.ts'

type UnderTest = {
  database: Database
  scope: Scope & { tenantId: string }
  home: string
  application: () => Promise<Address>
  owner: () => Address
}

let noted: Sent[] = []
let stopNoting = () => {}

/** The inventory's side of the process under test. */
export async function answerAboutInventory(command: InventoryCommand, under: UnderTest): Promise<unknown> {
  const { database, scope } = under
  switch (command.kind) {
    case 'grow a plant':
      return asOwner(under, async (owner) => {
        const load = { owner, tenantId: scope.tenantId, property: plantProperty, source: plantSource }
        await withoutIndexes(owner, () => bulkLoad(plantAssets(command.size), load))
        await owner.query('vacuum analyze')
      })
    case 'wait until everything is applied':
      while ((await database.read(scope, (handle) => handle.rows(anyQueued))).length > 0) await setTimeout(2)
      return requireAllFinished(under)
    case 'begin to note statements':
      noted = []
      stopNoting = noteStatements(database, noted)
      return undefined
    case 'statements noted': {
      stopNoting()
      const all = noted
      noted = []
      return all
    }
    case 'places': {
      const { databaseConnections: connections } = readCloudConfiguration(process.env)
      const { tenantId } = scope
      return { application: await under.application(), owner: under.owner(), tenantId, connections } satisfies Places
    }
    case 'explain':
      return explain(command.statement, under)
    case 'load': {
      const megabytes = process.memoryUsage().rss / 1024 / 1024
      return { megabytes, databaseCpuMicros: databaseCpuMicros(under.home) } satisfies ProcessLoad
    }
  }
}

/** Statements with their connection, to distinguish concurrent transactions. */
function noteStatements(database: Database, noted: Sent[]): () => void {
  const connections = new Map<object, number>()
  return database.observe(({ text, values, by: { connection, lease } }) => {
    const number = connections.get(connection) ?? connections.size
    connections.set(connection, number)
    noted.push({ text, values: [...values], by: `${number}/${lease}` })
  })
}

const failedOperation = statement<{ result: unknown }>(
  `select result from operations where tenant_id = $1 and state = 'failed' limit 1`,
)

/** Fails if a write failed, because a failed write is fast and must not count. */
async function requireAllFinished({ database, scope }: UnderTest): Promise<undefined> {
  const failed = await database.read(scope, (handle) => handle.row(failedOperation))
  if (failed !== undefined) throw new Error(`A write failed: ${JSON.stringify(failed.result).slice(0, 500)}`)
}

async function asOwner(
  { owner }: UnderTest,
  work: (client: Awaited<ReturnType<typeof openClient>>) => Promise<unknown>,
): Promise<undefined> {
  const client = await openClient(owner())
  await work(client)
  await client.end()
}

/** As the application, under its policy: what is fast for the owner may read the whole table for the application. */
async function explain({ text, values }: Sent, { application, scope }: UnderTest): Promise<string> {
  const client = await openClient(await application())
  await client.query(`set app.tenant = '${scope.tenantId}'`)
  const { rows } = await client.query(`explain (analyze, buffers) ${text}`, [...values])
  await client.end()
  return rows.map((row: { 'QUERY PLAN': string }) => row['QUERY PLAN']).join('\n')
}
