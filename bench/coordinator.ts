import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import { workedMicros } from './cpu-time.ts'
import { median } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import type { Report, Row } from './report.ts'

const schema = 'bench_coordinator'
const rounds = 5
const perRound = 200
const tenants = 50
const warmUp = 50

type Client = Awaited<ReturnType<typeof openClient>>

/**
 * Measures the processor time that the coordinator of a Citus cluster needs for a statement with one tenant, compared
 * with the same statement on a local table. The coordinator must run on this machine. The benchmark creates a schema and
 * deletes it afterwards.
 */
export async function coordinator({ database }: BenchOptions): Promise<Report> {
  if (database === undefined)
    throw new Error(
      'The benchmark needs --database with the URL of the coordinator of a Citus cluster on this machine.',
    )
  const client = await openClient({ url: database })
  try {
    // A run that was killed leaves its schema.
    await client.query(`drop schema if exists ${schema} cascade`)
    await client.query(`create schema ${schema}`)
    try {
      for (const table of ['local', 'distributed']) await createTable(client, table)
      await client.query(`select create_distributed_table('${schema}.distributed', 'tenant_id')`)
      const rows: Row[] = []
      for (const isTransaction of [false, true])
        for (const table of ['local', 'distributed']) rows.push(await measure(client, { table, isTransaction }))
      return { title: 'coordinator: a statement with one tenant', rows, goals: [] }
    } finally {
      await client.query(`drop schema ${schema} cascade`)
    }
  } finally {
    await client.end()
  }
}

async function createTable(client: Client, name: string): Promise<void> {
  await client.query(
    `create table ${schema}.${name} (tenant_id integer, id integer, data jsonb, primary key (tenant_id, id))`,
  )
}

/** The platform begins a transaction and binds the tenant before each statement. */
async function measure(
  client: Client,
  { table, isTransaction }: { table: string; isTransaction: boolean },
): Promise<Row> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const pid = rows[0]?.pid ?? 0
  const text = `select data from ${schema}.${table} where tenant_id = $1 and id = $2`
  let sent = 0
  const once = async () => {
    const tenant = sent++ % tenants
    if (isTransaction) await Promise.all([client.query('begin'), client.query(`set local app.tenant = '${tenant}'`)])
    await client.query({ name: `read ${table}`, text, values: [tenant, sent] })
    if (isTransaction) await client.query('commit')
  }
  const repeat = async (count: number) => {
    for (let number = 0; number < count; number++) await once()
  }
  await repeat(warmUp)
  const micros: number[] = []
  for (let round = 0; round < rounds; round++) {
    const before = workedMicros(pid)
    await repeat(perRound)
    micros.push((workedMicros(pid) - before) / perRound)
  }
  return {
    table,
    form: isTransaction ? 'in a transaction with its tenant' : 'alone',
    'coordinator µs': median(micros),
    'lowest µs': Math.min(...micros),
  }
}
