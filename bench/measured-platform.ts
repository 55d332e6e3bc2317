import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { openMasterKeys } from '@millwright/cloud/master-key-places.ts'
import { findAccessGroup, insertAccessGroup } from '@millwright/cloud/platform/access/store.ts'
import {
  type Address,
  openClient,
  openConnection,
  sessionSettings,
} from '@millwright/cloud/platform/database/connection.ts'
import { attachPostgres } from '@millwright/cloud/platform/postgres/postgres.ts'
import { createTenant, findTenant } from '@millwright/cloud/platform/tenants/tenants.ts'
import { prepareDatabase } from '@millwright/cloud/prepare.ts'
import { putDeviceAddresses } from '@millwright/cloud/services/discovery/device-address-store.ts'
import { createServerUser, newServerUserSecret } from '@millwright/cloud/services/identity/accounts/accounts.ts'
import { insertSchema } from '@millwright/cloud/services/inventory/schemas/schema-store.ts'
import { bulkLoad } from '@millwright/cloud/services/inventory/writes/bulk-load.ts'
import { readCloudConfiguration } from '@millwright/cloud/settings.ts'
import { embeddedOwner, startCloud } from '@millwright/cloud/start.ts'
import { plantAssets, plantProperty, plantSource } from '@millwright/links/plant/generator.ts'
import { createTenants, databaseVolume, liveBytes, pollForEvents, pollForJobs } from './capacity-commands.ts'
import { compactTable, tableSizes } from './disk-commands.ts'
import { runInventoryCommand } from './inventory-commands.ts'
import { cpuMicros, measureCalls } from './measurement.ts'
import type { GrownTenants, PlatformCommand, TenantCredentials } from './platform-process.ts'
import { handleCommands } from './worker-process.ts'

/**
 * This file runs in the measured process. It starts the platform. On a command, it runs the query of one operation
 * without the platform.
 */

const running = await startCloud(process.env)
const { database, tenants } = running.cloud.context
const tenant = await tenants.byName('default')
const scope = { tenantId: tenant?.id ?? '' }

type Client = Awaited<ReturnType<typeof openClient>>

let query: Promise<Query> | undefined

handleCommands(runCommand)
process.once('SIGTERM', async () => {
  await running.stop()
  process.exit(0)
})
process.send?.({ ready: { url: running.baseUrl, access: running.firstRun.access } })

async function runCommand(command: PlatformCommand): Promise<unknown> {
  switch (command.kind) {
    case 'cpu':
      return cpuMicros()
    case 'memory':
      return process.memoryUsage.rss() / 2 ** 20
    case 'create a second tenant':
      return createSecondTenant()
    case 'grow tenants':
      return growTenants(command)
    case 'wait for tasks':
      return waitForTasks(command.of)
    case 'store an expensive schema':
      return storeExpensiveSchema(command.url)
    case 'create groups':
      return createGroups(command.count)
    case 'store an address':
      return storeAddress(command)
    case 'create tenants':
      return createTenants(ownerAddress(), command.count)
    case 'database volume':
      return databaseVolume(ownerAddress())
    case 'table sizes':
      return tableSizes(ownerAddress())
    case 'compact':
      return compactTable(ownerAddress(), command.table)
    case 'live bytes':
      return liveBytes()
    case 'task checks':
      return running.cloud.context.tasks.stats().checks
    case 'poll for jobs':
      return pollForJobs(database, command)
    case 'poll for events':
      return pollForEvents(database, command)
    case 'query through the driver': {
      query ??= openQuery(command.groupId)
      const { inTurn, pipelined } = await query
      return measureCalls({ ...command, call: command.pipelined ? pipelined : inTurn })
    }
    case 'query through the database layer':
      return measureCalls({ ...command, call: () => readGroup(command.groupId) })
    case 'serve without the platform': {
      query ??= openQuery(command.groupId)
      return serveBareQuery(await query)
    }
    default:
      return runInventoryCommand(command, {
        database,
        scope,
        home: running.home,
        application: applicationAddress,
        owner: ownerAddress,
      })
  }
}

/** Returns the credentials of an administrator of a new tenant. */
async function createSecondTenant(): Promise<TenantCredentials> {
  const owner = await openClient(ownerAddress())
  const { id: tenantId } = await createTenant(owner, { name: 'second' }).finally(() => owner.end())
  return createAccount(tenantId)
}

async function createAccount(tenantId: string): Promise<TenantCredentials> {
  const secret = newServerUserSecret()
  const name = `bench ${secret.clientId}`
  await createServerUser({ database }, { tenantId }, { name, secret, role: 'administrator' })
  return secret
}

type TenantPlants = Extract<PlatformCommand, { kind: 'grow tenants' }>

/** Creates missing tenants, each with its own copy of a plant. */
async function growTenants({ count, size }: TenantPlants): Promise<GrownTenants> {
  const owner = await openClient(ownerAddress())
  try {
    const { citus, version } = database.server
    const credentials: TenantCredentials[] = []
    let isFilled = false
    for (let number = 1; number <= count; number++) {
      const name = `bench-${number}`
      const existing = await findTenant(owner, name)
      const { id: tenantId } = existing ?? (await createTenant(owner, { name }))
      if (existing === undefined) {
        await bulkLoad(plantAssets(size), { owner, tenantId, property: plantProperty, source: plantSource })
        isFilled = true
      }
      credentials.push(await createAccount(tenantId))
    }
    if (isFilled) await owner.query('vacuum analyze')
    return { server: citus ? 'Citus' : `PostgreSQL ${version}`, credentials }
  } finally {
    await owner.end()
  }
}

/** Waits until no task of a kind is left. */
async function waitForTasks(kind: string): Promise<void> {
  const list = () => database.read(scope, (handle) => running.cloud.context.tasks.list(handle, { kind }))
  while ((await list()).length > 0) await setTimeout(50)
}

/**
 * Stores a schema without the check that an upload passes, as earlier versions of the platform stored schemas. The
 * schema has 22 levels, and each level applies the next level twice.
 */
async function storeExpensiveSchema(url: string): Promise<void> {
  const levels = Array.from({ length: 22 }, (_, level) => {
    const next = { $ref: `#/$defs/level${level + 1}` }
    return [`level${level}`, { allOf: [next, next] }]
  })
  const schema = { $ref: '#/$defs/level0', $defs: { ...Object.fromEntries(levels), level22: { type: 'object' } } }
  await database.transaction(scope, (tx) => insertSchema(tx, { url, title: 'expensive', schema }))
}

/**
 * Creates access groups and updates the statistics of their table, so that PostgreSQL uses the indexes. Otherwise the
 * plans would depend on the first query. Returns the id of the last group.
 */
async function createGroups(count: number): Promise<string | undefined> {
  const last = await database.transaction(scope, async (tx) => {
    for (let made = 1; made < count; made++) await insertAccessGroup(tx, `group ${made}`)
    return insertAccessGroup(tx, `group ${count}`)
  })
  const owner = await openClient(ownerAddress())
  await owner.query('analyze access_groups')
  await owner.end()
  return last?.id
}

/** Stores that a gateway found an asset at an address, without a discovery. */
async function storeAddress({ assetId, gatewayId, address }: Record<'assetId' | 'gatewayId' | 'address', string>) {
  const link = { gatewayId, assetLinkId: 'bench' }
  await database.transaction(scope, (tx) => putDeviceAddresses(tx, link, [{ assetId, address }]))
}

function readGroup(groupId: string) {
  return database.lookup(scope, (handle) => findAccessGroup(handle, groupId))
}

type Result = { rows: unknown[] }
type Query = {
  /**
   * Sends the query on a free connection, with one query at a time per connection, like the connection pool of the
   * platform.
   */
  inTurn: () => Promise<Result>
  /**
   * Sends the query without waiting for earlier queries on the same connection (pipelining). The driver does not do
   * this by default.
   */
  pipelined: (caller: number) => Promise<Result>
}

/**
 * Records the statement that the measured operation sends, and prepares it on separate connections. The number and the
 * options of these connections are the same as in the platform.
 */
async function openQuery(groupId: string): Promise<Query> {
  const sent: { text: string; values: unknown[] }[] = []
  const stop = database.observe(({ text, values }) => sent.push({ text, values: [...values] }))
  await readGroup(groupId)
  stop()
  const statement = { name: 'query', ...(sent.at(-1) ?? { text: '', values: [] }) }
  const address = await applicationAddress()
  const { databaseConnections } = readCloudConfiguration(process.env)
  const connections = await Promise.all(
    Array.from({ length: databaseConnections }, async () => {
      const { client } = await openConnection(address, { settings: sessionSettings('set') })
      await client.query(`set app.tenant = '${scope.tenantId}'`)
      return client
    }),
  )
  const idle = [...connections]
  const waiting: ((connection: Client) => void)[] = []
  return {
    async inTurn() {
      const connection = idle.pop() ?? (await new Promise<Client>((resolve) => waiting.push(resolve)))
      const result = await connection.query(statement)
      const next = waiting.shift()
      if (next === undefined) idle.push(connection)
      else next(connection)
      return result
    },
    pipelined(caller) {
      const connection = connections[caller % connections.length]
      if (connection === undefined) throw new TypeError('No connection is open')
      return connection.query(statement)
    },
  }
}

async function applicationAddress() {
  const configuration = readCloudConfiguration(process.env)
  const masterKeys = await openMasterKeys(configuration, configuration.home)
  return (await prepareDatabase({ owner: ownerAddress(), app: undefined, binding: 'auto', masterKeys })).app
}

function ownerAddress(): Address {
  const { databaseUrl } = readCloudConfiguration(process.env)
  if (databaseUrl !== undefined) return { url: databaseUrl }
  const postgres = attachPostgres({ home: running.home })
  if (postgres === undefined) throw new Error('The database server of the home is not running')
  return embeddedOwner(postgres)
}

/**
 * Serves the query with only Node's HTTP server, the driver and JSON. The result is the lower bound for the cost of an
 * HTTP response, because the server has no validation, no routes and no extra headers.
 */
async function serveBareQuery({ inTurn }: Query): Promise<string> {
  const server = createServer((_request, response) => {
    inTurn().then(({ rows }) => {
      const body = JSON.stringify({ data: rows[0] })
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      response.end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
