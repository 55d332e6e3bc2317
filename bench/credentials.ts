import { randomUUID } from 'node:crypto'
import { credentials as contract } from '@millwright/api/credentials.ts'
import { systemCaller } from '@millwright/cloud/platform/access/system.ts'
import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import { enrolledGateway } from '@millwright/cloud/platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '@millwright/cloud/platform/testing/hub.ts'
import { measureCalls } from './measurement.ts'
import type { Report, Row } from './report.ts'

const instances = 100_000
const versions = 10
const product = { identifier: 'example.link', version: '1' } as const
const goalMs = 5
const roundMs = 3_000

/**
 * The addresses of the measurement: one in a network that half of the credential instances share, two in networks with
 * one instance each, and one that no instance applies to.
 */
const addresses = {
  'in a network of 50,000 instances': '10.7.7.7',
  'in a network of one instance': '0.1.1.7',
  'in an IPv6 network of one instance': '2001:db8:0:101::7',
  'where none applies': '203.0.113.7',
} as const

/** Measures the cost of selecting the credentials for one address among a very large number of credential instances. */
export async function credentials(): Promise<Report> {
  await using hub = await testHub({ own: true })
  const admin = await hub.as('administrator')
  const { id: gatewayId } = await enrolledGateway(hub, admin)
  await fill(hub, admin)
  const { tenantId, name: tenantName } = hub.tenant
  const peer = hub.context.peers(contract, systemCaller({ tenantId, tenantName }))
  const rows: Row[] = []
  for (const [where, address] of Object.entries(addresses)) {
    const data = { jobId: randomUUID(), gatewayId, product, devices: [{ address }] }
    const call = () => peer.selectCredentials({ body: { data } })
    const { data: found } = await call()
    const looked = await lookUp(hub, call)
    const { count, seconds, p50Ms, p99Ms, cpuMicros } = await measureCalls({ callers: 1, ms: roundMs, call })
    rows.push({
      address: where,
      chosen: found[0]?.credentials.length ?? 0,
      'look-up ms': looked.ms,
      'pages read': looked.pages,
      'p50 ms': p50Ms,
      'p99 ms': p99Ms,
      'per second': count / seconds,
      'CPU µs': cpuMicros,
    })
  }
  const slowest = Math.max(...rows.map((row) => Number(row['look-up ms'])))
  return {
    title: `credentials: which of ${instances} instances of ${versions} versions of a link apply to an address`,
    rows,
    goals: [{ goal: `looked up within ${goalMs} ms`, found: `${slowest.toFixed(2)} ms`, reached: slowest < goalMs }],
  }
}

type Plan = { 'Shared Hit Blocks': number; 'Shared Read Blocks': number }

/**
 * Returns the execution time of the statements that select credentials, and the number of pages that they read. The
 * statements run with the application role and its row-level security policy.
 */
async function lookUp(hub: TestHub, call: () => Promise<unknown>): Promise<{ ms: number; pages: number }> {
  const sent = (await hub.statements(call)).filter(({ text }) => text.includes('credential_places'))
  const client = await openClient(hub.database.app)
  await client.query(`set app.tenant = '${hub.tenant.tenantId}'`)
  let [ms, pages] = [0, 0]
  for (const { text, values } of sent) {
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, [...values])
    const [{ Plan: plan, 'Execution Time': took }] = rows[0]['QUERY PLAN'] as [{ Plan: Plan; 'Execution Time': number }]
    ms += took
    pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  }
  await client.end()
  return { ms, pages }
}

/**
 * Creates the most recent credential instances over the API, because they are selected and decrypted. Inserts all other
 * instances directly into the table, where they are never decrypted.
 */
async function fill(hub: TestHub, admin: TestCaller): Promise<void> {
  const schema = { type: 'object', properties: { password: { type: 'string', writeOnly: true } } }
  const schemaIds: string[] = []
  for (let version = 1; version <= versions; version++) {
    const { data } = await admin.credentials.createSchema({
      query: { resourceIdentifier: product.identifier, resourceVersion: String(version) },
      body: { data: { uri: 'urn:example', schema } },
    })
    schemaIds.push(data.id)
  }
  for (let made = 0; made < 4; made++) {
    const ipRanges = ['10.7.0.0/16', '0.1.1.0/24', '2001:db8:0:101::/64']
    const data = { schemaId: schemaIds[0] ?? '', name: 'recent', values: { password: 'x' }, metadata: { ipRanges } }
    await admin.credentials.createInstance({ body: { data } })
  }
  await hub.asOwner(async (owner) => {
    await owner.query(
      `insert into credential_instances (tenant_id, id, schema_id, name, shown, sealed, ip_ranges, created_by, modified_by, modified_at)
       select $1, gen_random_uuid(), ($2::uuid[])[1 + n % $3::int], 'instance-' || n, '{}', '', '[]', 'x', 'x',
              now() - make_interval(days => 1, secs => n)
       from generate_series(1, $4::int) n`,
      [hub.tenant.tenantId, schemaIds, versions, instances],
    )
    await owner.query(
      `insert into credential_places (tenant_id, block, instance_id, schema_id, resource_identifier, for_discovery, modified_at)
       select i.tenant_id, b.block, i.id, i.schema_id, $2, true, i.modified_at
       from credential_instances i, lateral (select substring(i.name from 10)::int as n) as of_it,
         lateral (values (case when n % 2 = 0 then '4/16/a07' else '4/24/' || to_hex(n) end),
                         ('6/64/' || '20010db80000' || lpad(to_hex(n), 4, '0'))) as b (block)
       where i.tenant_id = $1 and i.name like 'instance-%'`,
      [hub.tenant.tenantId, product.identifier],
    )
    await owner.query('vacuum analyze')
  })
}
