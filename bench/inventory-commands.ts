import { setTimeout } from 'node:timers/promises'
import { type Address, openClient } from '@millwright/cloud/platform/database/connection.ts'
import type { Database, Scope } from '@millwright/cloud/platform/database/database.ts'
import { statement } from '@millwright/cloud/platform/database/statement.ts'
import { bulkLoad } from '@millwright/cloud/services/inventory/writes/bulk-load.ts'
import { anyQueued } from '@millwright/cloud/services/inventory/writes/queue-store.ts'
import { readCloudConfiguration } from '@millwright/cloud/settings.ts'
import { plantAssets, plantProperty, plantSource } from '@millwright/links/plant/generator.ts'
import { databaseCpuMicros } from './cpu-time.ts'
import { withoutIndexes } from './indexes.ts'
import type { InventoryCommand, ProcessLoad } from './platform-process.ts'
import type { DatabaseTarget } from './reference-process.ts'
import type { RecordedStatement } from './statement-sender.ts'

type MeasuredPlatform = {
  database: Database
  scope: Scope & { tenantId: string }
  home: string
  application: () => Promise<Address>
  owner: () => Address
}

let recorded: RecordedStatement[] = []
let stopRecording = () => {}

/** Runs the commands of the inventory benchmark. */
export async function runInventoryCommand(command: InventoryCommand, measured: MeasuredPlatform): Promise<unknown> {
  const { database, scope } = measured
  switch (command.kind) {
    case 'grow a plant':
      return asOwner(measured, async (owner) => {
        const load = { owner, tenantId: scope.tenantId, property: plantProperty, source: plantSource }
        await withoutIndexes(owner, () => bulkLoad(plantAssets(command.size), load))
        await owner.query('vacuum analyze')
      })
    case 'wait until everything is applied':
      while ((await database.read(scope, (handle) => handle.rows(anyQueued))).length > 0) await setTimeout(2)
      return requireAllFinished(measured)
    case 'start recording statements':
      recorded = []
      stopRecording = recordStatements(database, recorded)
      return undefined
    case 'stop recording statements': {
      stopRecording()
      const all = recorded
      recorded = []
      return all
    }
    case 'database target': {
      const { databaseConnections: connections } = readCloudConfiguration(process.env)
      const { tenantId } = scope
      return {
        application: await measured.application(),
        owner: measured.owner(),
        tenantId,
        connections,
      } satisfies DatabaseTarget
    }
    case 'explain':
      return explain(command.statement, measured)
    case 'load': {
      const megabytes = process.memoryUsage().rss / 1024 / 1024
      return { megabytes, databaseCpuMicros: databaseCpuMicros(measured.home) } satisfies ProcessLoad
    }
  }
}

/** Records statements with their connection, because the connection distinguishes concurrent transactions. */
function recordStatements(database: Database, recorded: RecordedStatement[]): () => void {
  const connections = new Map<object, number>()
  return database.observe(({ text, values, by: { connection, lease } }) => {
    const number = connections.get(connection) ?? connections.size
    connections.set(connection, number)
    recorded.push({ text, values: [...values], by: `${number}/${lease}` })
  })
}

const failedOperation = statement<{ result: unknown }>(
  `select result from operations where tenant_id = $1 and state = 'failed' limit 1`,
)

/** Fails if a write failed, because a failed write is fast and must not count. */
async function requireAllFinished({ database, scope }: MeasuredPlatform): Promise<undefined> {
  const failed = await database.read(scope, (handle) => handle.row(failedOperation))
  if (failed !== undefined) throw new Error(`A write failed: ${JSON.stringify(failed.result).slice(0, 500)}`)
}

async function asOwner(
  { owner }: MeasuredPlatform,
  work: (client: Awaited<ReturnType<typeof openClient>>) => Promise<unknown>,
): Promise<undefined> {
  const client = await openClient(owner())
  await work(client)
  await client.end()
}

/**
 * Explains a statement with the application role and its row-level security. The plan of the owner can be fast while
 * the application scans the whole table.
 */
async function explain({ text, values }: RecordedStatement, { application, scope }: MeasuredPlatform): Promise<string> {
  const client = await openClient(await application())
  await client.query(`set app.tenant = '${scope.tenantId}'`)
  const { rows } = await client.query(`explain (analyze, buffers) ${text}`, [...values])
  await client.end()
  return rows.map((row: { 'QUERY PLAN': string }) => row['QUERY PLAN']).join('\n')
}
