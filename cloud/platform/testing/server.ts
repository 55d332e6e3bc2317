import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, constants, mkdtemp, readdir, readFile, rm, stat, statfs } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { migrationSources, prepareDatabase } from '../../prepare.ts'
import { ensureApplicationRole, setPassword } from '../database/application-role.ts'
import type { Binding, Server } from '../database/binding.ts'
import { type Address, openClient } from '../database/connection.ts'
import { readMigrations } from '../database/migrations.ts'
import { startPostgres } from '../postgres/postgres.ts'
import { MasterKeys } from '../secrets/master-keys.ts'
import { openSecrets } from '../secrets/opening.ts'
import type { Secrets } from '../secrets/secrets.ts'
import { deleteTenant, findTenant } from '../tenants/tenants.ts'

/**
 * The master key of all tests. It is always the same, so that a test can open any database that was cloned from the
 * template.
 */
export const testMasterKey = createHash('sha256').update('master key of the test kit').digest('base64')

const testMasterKeys = await MasterKeys.open({
  file: '/nowhere/master.key',
  environmentKeys: [testMasterKey],
  transit: undefined,
})

/** Opens the master keys and the secrets of a process. If `file` is given, the master key is read from this file. */
export async function keysFor(owner: Address, file?: string): Promise<{ masterKeys: MasterKeys; secrets: Secrets }> {
  const masterKeys =
    file === undefined ? testMasterKeys : await MasterKeys.open({ file, environmentKeys: [], transit: undefined })
  const client = await openClient(owner)
  try {
    return { masterKeys, secrets: await openSecrets(client, masterKeys) }
  } finally {
    await client.end()
  }
}

/** Settings of a server for tests. The server does not wait for the disk, because its data need not survive a crash. */
const quick = {
  fsync: false,
  synchronous_commit: false,
  full_page_writes: false,
  max_connections: 200,
  shared_buffers: '64MB',
  autovacuum: false,
  // The tables of tests are small. A plan for the values of each statement takes more time than it saves.
  plan_cache_mode: 'force_generic_plan',
}

type Parts = Exclude<Address, { url: string }>

type Owner = Awaited<ReturnType<typeof openClient>>

export type TestDatabase = {
  owner: Address
  app: Address
  server: Server
  /** True if other tests use the database too, with their own tenants. */
  shared: boolean
  /** Runs work of the test kit with a connection of the owner. The work must leave no state in the session. */
  withOwner<Result>(work: (owner: Owner) => Promise<Result>): Promise<Result>
  /**
   * Cleans up after a hub. In a shared database, it suspends or deletes the given tenants. A separate database is
   * dropped.
   */
  leave(tenants: string[]): Promise<void>
}

const wantedBinding = (process.env.MILLWRIGHT_TEST_BINDING ?? 'auto') as Binding | 'auto'

/** The folder of Linux whose files are in memory, and the free space that it needs. */
const memoryFolder = '/dev/shm'
const neededBytes = 4 * 1024 ** 3
const prefix = 'millwright-test-'
/** The longest time between the creation of the folder and the start of its server. */
const startMs = 600_000

/** Returns a folder in memory if the machine has one with enough space. Each separate database creates many files. */
async function folderForData(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(memoryFolder)
    if (bavail * bsize < neededBytes || freemem() < neededBytes) return tmpdir()
    await access(memoryFolder, constants.W_OK | constants.X_OK)
    await removeLeftData()
    return memoryFolder
  } catch {
    return tmpdir()
  }
}

/** Removes the data that killed test runs have left in memory. */
async function removeLeftData(): Promise<void> {
  const names = (await readdir(memoryFolder)).filter((name) => name.startsWith(prefix))
  for (const name of names) {
    const home = join(memoryFolder, name)
    const { mtimeMs } = await stat(home)
    const pid = await readFile(join(home, 'postgres', 'data', 'postmaster.pid'), 'utf8').catch(() => '')
    if (Date.now() - mtimeMs > startMs && !isRunning(Number.parseInt(pid, 10))) await rm(home, { recursive: true })
  }
}

function isRunning(pid: number): boolean {
  return Number.isInteger(pid) && existsSync(`/proc/${pid}`)
}

/** Starts a server for a whole test run. The test processes read its address from the environment. */
export async function startTestServer(): Promise<{ address: Parts; stop(): Promise<void> }> {
  const home = await mkdtemp(join(await folderForData(), prefix))
  const postgres = await startPostgres({ home, settings: quick })
  return {
    address: postgres.connection,
    async stop() {
      await postgres.stop()
      await rm(home, { recursive: true, force: true })
    },
  }
}

let ownServer: ReturnType<typeof startTestServer> | undefined

const endings: (() => Promise<void>)[] = []

/** Runs work after the last test of this process, while the server still runs. */
export function atEndOfTests(work: () => Promise<void>): void {
  endings.push(work)
}

async function endTests(): Promise<void> {
  for (const ending of endings) await ending()
  await closeIdleOwners()
  await (await ownServer)?.stop()
}

if (process.env.MILLWRIGHT_TEST_SERVER !== undefined) {
  // The test run disconnects a worker after its last file.
  process.once('disconnect', () => void endTests())
} else if (process.env.NODE_TEST_CONTEXT !== undefined || process.argv[1]?.endsWith('.test.ts')) {
  // Hooks run in the order of their registration. This hook is registered after the hooks of the test file, which still
  // need the server.
  setImmediate(() => after(endTests))
}

/** Returns the address of the server of this test run. If a test file runs alone, it starts a separate server. */
async function serverAddress(): Promise<Parts> {
  const sharedServer = process.env.MILLWRIGHT_TEST_SERVER
  if (sharedServer !== undefined) return JSON.parse(sharedServer)
  ownServer ??= startTestServer()
  return (await ownServer).address
}

const appRole = { name: 'millwright_test_app', password: 'millwright_test_app' }

/**
 * Returns a database for a hub. Cloning the migrated template takes longer than most tests, so the hubs of a process
 * share one database. With `own`, the hub gets a separate database, for tests that use more than their own tenant. If
 * the environment names a database, all tests share it.
 */
export async function testDatabase({ own = false }: { own?: boolean } = {}): Promise<TestDatabase> {
  const url = process.env.MILLWRIGHT_TEST_DATABASE_URL
  if (url !== undefined) return givenDatabase({ url })
  if (own) return cloneTemplate()
  processDatabase ??= cloneTemplate()
  const { owner, app, server } = await processDatabase
  const withOwner = <Result>(work: (connection: Owner) => Promise<Result>) => withIdleOwner(owner, work)
  const leave = async (tenants: string[]) => {
    await withOwner((connection) => connection.query(suspend, [tenants]))
  }
  return { owner, app, server, shared: true, withOwner, leave }
}

let processDatabase: Promise<TestDatabase> | undefined

/** The connections of the owner to the database of this process that no work uses. */
const idleOwners = new Set<Owner>()

/**
 * Runs work with an idle connection of the owner, or with a new one. Each hub needs several connections one after the
 * other, and opening one takes longer than its work. A connection whose work failed is not used again.
 */
async function withIdleOwner<Result>(address: Address, work: (owner: Owner) => Promise<Result>): Promise<Result> {
  const [idle] = idleOwners
  if (idle !== undefined) idleOwners.delete(idle)
  const owner = idle ?? (await openClient(address))
  // A test can end all connections of its database.
  if (idle === undefined) owner.once('end', () => idleOwners.delete(owner))
  try {
    const result = await work(owner)
    idleOwners.add(owner)
    return result
  } catch (error) {
    await owner.end()
    throw error
  }
}

async function closeIdleOwners(): Promise<void> {
  await Promise.all([...idleOwners].map((owner) => owner.end()))
}

/**
 * A statement that suspends tenants, so that no background task runs for them. Their rows are deleted with the
 * database.
 */
const suspend = `update tenants set state = 'suspended' where name = any($1)`

async function cloneTemplate(): Promise<TestDatabase> {
  const server = await serverAddress()
  const template = await ensureTemplate(server)
  const database = `test_${randomBytes(8).toString('hex')}`
  const postgres = { ...server, database: 'postgres' }
  await asOwner(postgres, `create database ${database} template ${template.name} strategy file_copy`)
  return {
    owner: { ...server, database },
    app: { ...server, database, user: appRole.name, password: appRole.password },
    server: template.server,
    shared: false,
    withOwner: (work) => withNewOwner({ ...server, database }, work),
    leave: () => asOwner(postgres, `drop database ${database} with (force)`),
  }
}

let givenPreparation: ReturnType<typeof prepareDatabase> | undefined

async function givenDatabase(owner: Address): Promise<TestDatabase> {
  givenPreparation ??= prepareDatabase({ owner, app: undefined, binding: wantedBinding, masterKeys: testMasterKeys })
  const { app, server } = await givenPreparation
  const leave = async (tenants: string[]) => {
    const client = await openClient(owner)
    await client.query(suspend, [tenants])
    for (const name of tenants) if ((await findTenant(client, name)) !== undefined) await deleteTenant(client, name)
    await client.end()
  }
  return { owner, app, server, shared: true, withOwner: (work) => withNewOwner(owner, work), leave }
}

type Template = { name: string; server: Server }

let ownTemplate: Promise<Template> | undefined

/** Creates the template once per server and set of migrations. Concurrent callers wait. */
export function ensureTemplate(server: Parts): Promise<Template> {
  ownTemplate ??= makeTemplate(server)
  return ownTemplate
}

async function makeTemplate(server: Parts): Promise<Template> {
  const migrations = await readMigrations(migrationSources)
  const name = `template_${createHash('sha256').update(JSON.stringify(migrations)).digest('hex').slice(0, 16)}`
  const address = { ...server, database: name }
  const app = { ...address, user: appRole.name, password: appRole.password }
  const postgres = await openClient({ ...server, database: 'postgres' })
  try {
    await postgres.query('select pg_advisory_lock(1)')
    const { rows } = await postgres.query('select from pg_database where datname = $1 and datistemplate', [name])
    if (rows.length === 0) {
      await ensureApplicationRole(postgres, appRole.name)
      await setPassword(postgres, appRole)
      await postgres.query(`drop database if exists ${name}`)
      await postgres.query(`create database ${name}`)
      await prepareDatabase({ owner: address, app, binding: wantedBinding, masterKeys: testMasterKeys })
      await postgres.query(`alter database ${name} is_template true allow_connections false`)
    }
    const binding = wantedBinding === 'auto' ? 'session' : wantedBinding
    return { name, server: { binding, pooled: false, citus: false, version: 18 } }
  } finally {
    await postgres.end()
  }
}

async function asOwner(address: Address, text: string): Promise<void> {
  await withNewOwner(address, (owner) => owner.query(text))
}

async function withNewOwner<Result>(address: Address, work: (owner: Owner) => Promise<Result>): Promise<Result> {
  const owner = await openClient(address)
  try {
    return await work(owner)
  } finally {
    await owner.end()
  }
}
