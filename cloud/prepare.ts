import { coordinatorTables, referenceTables, tenantRows } from '../architecture.ts'
import {
  currentUser,
  ensureApplicationRole,
  requireNoSessions,
  requireRestrictedRole,
  setPassword,
} from './platform/database/application-role.ts'
import { type Binding, inspectServer, type Server } from './platform/database/binding.ts'
import { isDistributed } from './platform/database/cluster.ts'
import { type Address, openClient } from './platform/database/connection.ts'
import { checkDistribution, type Distribution, distribute } from './platform/database/distribute.ts'
import { migrate } from './platform/database/migrations.ts'
import { platformMigrations } from './platform/migrations.ts'
import { ownSealedColumns, retirePlatformKeys } from './platform/secrets/data-rotation.ts'
import type { MasterKeys } from './platform/secrets/master-keys.ts'
import { openSecrets, sharedPassword } from './platform/secrets/opening.ts'
import type { Secrets } from './platform/secrets/secrets.ts'
import { StartError } from './platform/start-error.ts'
import { services } from './services/services.ts'

type Owner = Awaited<ReturnType<typeof openClient>>

export const oldestPostgres = 15

export const migrationSources = [
  ...platformMigrations,
  ...services.flatMap(({ migrations }) => (migrations === undefined ? [] : [migrations])),
]

/** Where the tables of the product are stored in a distributed database. */
export const placeRules = { referenceTables, coordinatorTables, tenantRows }

/** All columns with sealed values, of the platform and of its services. */
export const sealedColumns = [...ownSealedColumns, ...services.flatMap(({ sealed }) => sealed ?? [])]

type Options = {
  /** The database user that creates and changes the tables. */
  owner: Address
  /** The database user that requests run as. If undefined, this user is created. */
  app: Address | undefined
  binding: Binding | 'auto'
  masterKeys: MasterKeys
  /**
   * Set if a backup is restored. `fill` runs after the migrations of the backup's version, before later migrations
   * run.
   */
  filling?: { migrations: ReadonlySet<string>; fill(owner: Owner): Promise<void> }
  /** Accepts tables that a newer version has migrated, if this version can run on them. By default, they are refused. */
  acceptNewer?: boolean
  /** Receives a line per step if a distribution that was interrupted is completed. */
  onProgress?: ((line: string) => void) | undefined
}

export type Prepared = { app: Address; appRole: string; server: Server; secrets: Secrets }

/**
 * Prepares a database for this version, as the owner of the database. It prepares the tables, the keys, the
 * application's role and the initial data of services.
 */
export async function prepareDatabase({
  owner: address,
  app,
  binding,
  masterKeys,
  filling,
  acceptNewer = false,
  onProgress,
}: Options): Promise<Prepared> {
  const owner = await openClient(address).catch((error: Error) => {
    throw new StartError(
      `The database cannot be reached (${error.message}): check DATABASE_URL and that the server runs.`,
    )
  })
  try {
    await requireVersion(owner)
    const appRole = app === undefined ? await createRole(owner) : await roleOf(app)
    const migrations = { sources: migrationSources, appRole, rules: placeRules, onProgress }
    if (filling !== undefined) {
      await migrate(owner, { ...migrations, only: filling.migrations })
      await filling.fill(owner)
    }
    const { hasNewer } = await migrate(owner, { ...migrations, acceptNewer })
    const secrets = await openSecrets(owner, masterKeys)
    // A newer version can have sealed columns that this version does not know.
    if (!hasNewer) await retirePlatformKeys(owner, { secrets, columns: sealedColumns })
    for (const service of services) await service.prepare?.(owner, secrets)
    const user = app ?? (await applicationAddress(owner, address, { appRole, secrets }))
    return { app: user, appRole, server: await inspect(user, binding), secrets }
  } finally {
    await owner.end()
  }
}

/**
 * Distributes all tables of the product over a Citus cluster, and checks the result on all nodes. The first run refuses
 * to start while the platform uses the database.
 */
export async function distributeTables(
  owner: Owner,
  appRole: string,
  onProgress?: (line: string) => void,
): Promise<Distribution> {
  const options = { rules: placeRules, appRole, onProgress }
  if (!(await isDistributed(owner))) await requireNoSessions(owner, appRole)
  const done = await distribute(owner, options)
  if (done.distributed.length + done.reference.length === 0) await checkDistribution(owner, options)
  return done
}

async function requireVersion(owner: Owner): Promise<void> {
  const { rows } = await owner.query<{ number: string; name: string }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as name`,
  )
  const version = Math.floor(Number(rows[0]?.number) / 10_000)
  if (version >= oldestPostgres) return
  throw new StartError(
    `The database server is PostgreSQL ${rows[0]?.name}; Millwright needs ${oldestPostgres} or newer.`,
  )
}

async function databaseOf(owner: Owner): Promise<string> {
  const { rows } = await owner.query<{ name: string }>('select current_database() as name')
  return rows[0]?.name ?? ''
}

async function createRole(owner: Owner): Promise<string> {
  const role = `${await databaseOf(owner)}_app`
  await ensureApplicationRole(owner, role)
  return role
}

/**
 * Returns the address with the login role of this database. The password is sealed in the database, so that every
 * process can read it.
 */
async function applicationAddress(
  owner: Owner,
  address: Address,
  { appRole: user, secrets }: { appRole: string; secrets: Secrets },
): Promise<Address> {
  const database = await databaseOf(owner)
  const password = await sharedPassword(owner, secrets, `database role ${user}`)
  const app = withUser(address, { database, user, password })
  // A cluster changes a role on every server. A start must not fail while one of them is not reachable, so the password
  // is set only if the role does not have it.
  if (!(await canConnect(app))) await setPassword(owner, { name: user, password })
  return app
}

function withUser(address: Address, app: { database: string; user: string; password: string }): Address {
  if (!('url' in address)) return { ...address, ...app }
  // The URL parser is not used here. It refuses a URL without a host, in which a parameter names the folder of the
  // socket.
  return {
    url: address.url.replace(
      /^(\w+:\/\/)(?:[^@/]*@)?/,
      (_, scheme: string) => `${scheme}${encodeURIComponent(app.user)}:${app.password}@`,
    ),
  }
}

async function canConnect(address: Address): Promise<boolean> {
  try {
    await (await openClient(address)).end()
    return true
  } catch {
    return false
  }
}

async function roleOf(app: Address): Promise<string> {
  const client = await openClient(app).catch((error: Error) => {
    throw new StartError(
      `The application's database user cannot connect (${error.message}): check MILLWRIGHT_DATABASE_APP_URL.`,
    )
  })
  try {
    return await currentUser(client)
  } finally {
    await client.end()
  }
}

/**
 * Inspects the server with the connection settings of the pool. Refuses a user that could read rows of other tenants.
 */
async function inspect(app: Address, binding: Binding | 'auto'): Promise<Server> {
  const client = await openClient(app)
  try {
    await requireRestrictedRole(client)
  } finally {
    await client.end()
  }
  return inspectServer(app, binding)
}
