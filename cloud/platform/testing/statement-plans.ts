import { v7 } from 'uuid'
import { type Address, openClient } from '../database/connection.ts'

type Client = Awaited<ReturnType<typeof openClient>>

/**
 * Reads how a distributed database plans statements. Each statement is explained as the application's role with a bound
 * tenant, and with a constant for each parameter, because Citus cannot explain an `insert … select` with parameters.
 */

/** The statements that use the rows of several tenants, with the reasons. */
const ofManyTenants: readonly [text: RegExp, reason: string][] = [
  [/^select tenant_id as "tenantId", version from access_versions\b/, 'each process polls the versions of all tenants'],
]

/** Returns the faults of statements on a cluster. A statement is faulty if Citus refuses it or sends it to several shards. */
export async function planFaults(application: Address, texts: Iterable<string>): Promise<string[]> {
  const client = await openClient(application)
  try {
    await client.query(`set citus.propagate_set_commands = 'local'`)
    const faults: string[] = []
    for (const text of texts) {
      const fault = await planFaultOf(client, text)
      if (fault !== undefined) faults.push(`${fault}: ${text}`)
    }
    return faults
  } finally {
    await client.end()
  }
}

/**
 * The errors of statements that the application does not run: only the owner of the database runs a statement without a
 * privilege, and only a test runs a statement of a table that it creates.
 */
const notOfApplication: readonly unknown[] = ['42501', '42P01']

/** Matches the commands that have a plan. */
const planned = /^\s*(?:select|with|insert|update|delete)\b/i

async function planFaultOf(client: Client, text: string): Promise<string | undefined> {
  if (!planned.test(text)) return undefined
  await client.query('begin')
  try {
    const tenantId = v7()
    await client.query(`set local app.tenant = '${tenantId}'`)
    const explained = replaceParameters(text, await constantsFor(client, text, tenantId))
    const { rows } = await client.query<{ 'QUERY PLAN': unknown }>(`explain (format json) ${explained}`)
    const tasks = Math.max(0, ...taskCounts(rows[0]?.['QUERY PLAN']))
    if (tasks <= 1 || ofManyTenants.some(([pattern]) => pattern.test(text))) return undefined
    return `is sent to ${tasks} shards`
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return notOfApplication.includes(code) ? undefined : message
  } finally {
    await client.query('rollback')
  }
}

/** Returns a constant of the type of each parameter. The first one is the tenant, if its type is `uuid`. */
async function constantsFor(client: Client, text: string, tenantId: string): Promise<string[]> {
  return (await parameterTypes(client, text)).map((type, index) => {
    const value = type === 'uuid' && index === 0 ? tenantId : sampleOf(type)
    return `'${value}'::${type}`
  })
}

/** Returns a statement with a constant for the value of each parameter. */
export async function withConstants(client: Client, text: string, values: readonly unknown[]): Promise<string> {
  const types = await parameterTypes(client, text)
  const texts = types.map((type, index) => `$${index + 1}::${type}::text`)
  const { rows } = await client.query<{ texts: (string | null)[] }>(
    `select array[${texts.join(', ')}]::text[] as texts`,
    [...values],
  )
  const constants = types.map((type, index) => {
    const value = rows[0]?.texts[index] ?? null
    return `${value === null ? 'null' : client.escapeLiteral(value)}::${type}`
  })
  return replaceParameters(text, constants)
}

function replaceParameters(text: string, constants: readonly string[]): string {
  return text.replace(/\$(\d+)/g, (_, place: string) => constants[Number(place) - 1] ?? 'null')
}

async function parameterTypes(client: Client, text: string): Promise<string[]> {
  await client.query(`prepare explained as ${text}`)
  const { rows } = await client.query<{ types: string[] }>(
    `select parameter_types::text[] as types from pg_prepared_statements where name = 'explained'`,
  )
  await client.query('deallocate explained')
  return rows[0]?.types ?? []
}

const samples: Record<string, string> = {
  uuid: '00000000-0000-7000-8000-000000000001',
  text: '10',
  boolean: 'true',
  json: '[]',
  jsonb: '[]',
  'timestamp with time zone': '2026-01-01T00:00:00Z',
  inet: '10.0.0.1',
  cidr: '10.0.0.0/8',
  bytea: '\\x00',
}

/** Returns the text of a value. `1` is valid for numbers and texts. */
function sampleOf(type: string): string {
  return type.endsWith('[]') ? `{"${sampleOf(type.slice(0, -2)).replace('\\', '\\\\')}"}` : (samples[type] ?? '1')
}

/** Returns the numbers of tasks of all parts of a plan. A part without a table of the cluster has none. */
function taskCounts(plan: unknown): number[] {
  if (typeof plan !== 'object' || plan === null) return []
  return Object.entries(plan).flatMap(([name, value]) => (name === 'Task Count' ? [Number(value)] : taskCounts(value)))
}
