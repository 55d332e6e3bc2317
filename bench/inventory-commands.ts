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
import type { GrownHierarchy, InventoryCommand, ProcessLoad } from './platform-process.ts'
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
    case 'vacuum':
      return asOwner(measured, (owner) => owner.query('vacuum analyze'))
    case 'grow a hierarchy':
      return growHierarchy(command, measured)
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

/** The number of nodes of the upper levels: one root, 10 sites, 100 buildings and 1,000 lines. */
const upperNodes = 1_111

/**
 * Fills an empty hierarchy with nodes, and assigns all assets to its cells, which are the nodes of the lowest level.
 * Returns ids of nodes and assets as samples.
 */
async function growHierarchy(
  { hierarchyId, nodes }: { hierarchyId: string; nodes: number },
  { owner, scope: { tenantId } }: MeasuredPlatform,
): Promise<GrownHierarchy> {
  const client = await openClient(owner())
  try {
    const named = async (from: number, to: number) => {
      const { rows } = await client.query<{ id: string }>(
        `select n.id from hierarchy_nodes n join generate_series($3::int, $4::int) s on n.name = 'Node ' || s
         where n.tenant_id = $1 and n.hierarchy_id = $2 order by s`,
        [tenantId, hierarchyId, from, to - 1],
      )
      return rows.map(({ id }) => id)
    }
    if ((await named(0, 1)).length === 0) await fillHierarchy(client, { tenantId, hierarchyId, nodes })
    const assets = await client.query<{ id: string }>('select id from assets where tenant_id = $1 limit 20', [tenantId])
    const [root = ''] = await named(0, 1)
    return {
      root,
      sites: await named(1, 11),
      lines: await named(111, upperNodes),
      cells: await named(upperNodes, 1_500),
      assets: assets.rows.map(({ id }) => id),
    }
  } finally {
    await client.end()
  }
}

type HierarchySize = { tenantId: string; hierarchyId: string; nodes: number }

async function fillHierarchy(
  client: Awaited<ReturnType<typeof openClient>>,
  { tenantId, hierarchyId, nodes }: HierarchySize,
): Promise<void> {
  await client.query('begin')
  await client.query(
    `create temporary table tree on commit drop as
     select n, gen_random_uuid() as id, case when n = 0 then -1 when n <= 10 then 0 when n <= 110 then 1 + (n - 11) / 10
       when n < ${upperNodes} then 11 + (n - 111) / 10 else 111 + (n - ${upperNodes}) % 1000 end as parent
     from generate_series(0, ${nodes - 1}) n`,
  )
  await client.query('create index on tree (n)')
  await client.query('analyze tree')
  await client.query(
    `insert into hierarchy_nodes (tenant_id, id, hierarchy_id, parent_id, name, name_tokens, rank, created_at, modified_at)
     select $1, t.id, $2, coalesce(p.id, $2), 'Node ' || t.n, array_to_tsvector(array(
         select distinct right($2::uuid::text, 4) || substr('node ' || t.n, i, 3) from generate_series(1, length('node ' || t.n)) i)),
       t.n::bigint * 1048576, now(), now()
     from tree t left join tree p on p.n = t.parent`,
    [tenantId, hierarchyId],
  )
  await client.query('update hierarchies set nodes = $3, structure = structure + 1 where tenant_id = $1 and id = $2', [
    tenantId,
    hierarchyId,
    nodes,
  ])
  await client.query(
    `insert into relations (tenant_id, id, subject_type, subject_id, predicate, object_type, object_id, source_type,
                            created_at, modified_at)
     select $1, gen_random_uuid(), 'asset', a.id, 'is_assigned_to_node', 'node', t.id, 'manual', now(), now()
     from (select id, row_number() over (order by id) as number from assets where tenant_id = $1) a
     join tree t on t.n = ${upperNodes} + a.number % ${nodes - upperNodes}`,
    [tenantId],
  )
  await client.query('commit')
  await client.query('vacuum analyze')
}

/** Records statements together with their connection and lease, which distinguish concurrent transactions. */
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

/** Throws if a write failed. A failed write is fast, so it must not count as a measured write. */
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
 * Explains a statement with the application role and its row-level security policy. For the database owner, the same
 * statement may have a fast plan although it scans the whole table for the application role.
 */
async function explain({ text, values }: RecordedStatement, { application, scope }: MeasuredPlatform): Promise<string> {
  const client = await openClient(await application())
  await client.query(`set app.tenant = '${scope.tenantId}'`)
  const { rows } = await client.query(`explain (analyze, buffers) ${text}`, [...values])
  await client.end()
  return rows.map((row: { 'QUERY PLAN': string }) => row['QUERY PLAN']).join('\n')
}
