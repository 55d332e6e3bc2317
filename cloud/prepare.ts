import { referenceTables } from '../architecture.ts'
import { currentUser, ensureApplicationRole, requireHarmless } from './platform/database/application-role.ts'
import { type Binding, inspectServer, type Server } from './platform/database/binding.ts'
import { type Address, openClient } from './platform/database/connection.ts'
import { type Distribution, distribute, isDistributed } from './platform/database/distribute.ts'
import { migrate, readMigrations } from './platform/database/migrations.ts'
import { platformMigrations } from './platform/migrations.ts'
import type { Secrets } from './platform/secrets/secrets.ts'
import { StartError } from './platform/start-error.ts'
import { services } from './services/services.ts'

type Owner = Awaited<ReturnType<typeof openClient>>

export const oldestPostgres = 15

export const migrationSources = [
  ...platformMigrations,
  ...services.flatMap(({ migrations }) => (migrations === undefined ? [] : [migrations])),
]

type Options = {
  /** As whom the tables are made and changed. */
  owner: Address
  /** As whom requests run; made when it is not given. */
  app: Address | undefined
  binding: Binding | 'auto'
  secrets: Secrets
  /** Brings back what was in a backup: into the tables as they were then, before they are brought forward. */
  filling?: { migrations: ReadonlySet<string>; fill(owner: Owner): Promise<void> }
}

export type Prepared = { app: Address; appRole: string; server: Server }

/** Makes a database ready for this version, as its owner: tables, the application's role, what services start with. */
export async function prepareDatabase({ owner: address, app, binding, secrets, filling }: Options): Promise<Prepared> {
  const owner = await openClient(address).catch((error: Error) => {
    throw new StartError(
      `The database cannot be reached (${error.message}): check DATABASE_URL and that the server runs.`,
    )
  })
  try {
    await requireVersion(owner)
    const user = app ?? (await applicationAddress(owner, address, secrets))
    const appRole = await roleOf(user)
    if (filling !== undefined) {
      await migrate(owner, { sources: migrationSources, appRole, only: filling.migrations })
      await filling.fill(owner)
    }
    await migrate(owner, { sources: migrationSources, appRole })
    if (await isDistributed(owner)) await distributeTables(owner, appRole)
    for (const service of services) await service.prepare?.(owner, secrets)
    return { app: user, appRole, server: await inspect(user, binding) }
  } finally {
    await owner.end()
  }
}

/** Spreads all tables of the product over a Citus cluster. */
export async function distributeTables(owner: Owner, appRole: string): Promise<Distribution> {
  return distribute(owner, { referenceTables, migrations: await readMigrations(migrationSources), appRole })
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

/** The login role of this database: its password follows from the master key, so that every process can work it out. */
async function applicationAddress(owner: Owner, address: Address, secrets: Secrets): Promise<Address> {
  const { rows } = await owner.query<{ name: string }>('select current_database() as name')
  const database = rows[0]?.name ?? ''
  const user = `${database}_app`
  const password = secrets.derive(`database role ${user}`).toString('base64url')
  await ensureApplicationRole(owner, { name: user, password })
  if (!('url' in address)) return { ...address, database, user, password }
  // Not by the URL parser: it refuses the form without a host, which names a socket folder in its parameters.
  return {
    url: address.url.replace(
      /^(\w+:\/\/)(?:[^@/]*@)?/,
      (_, scheme: string) => `${scheme}${encodeURIComponent(user)}:${password}@`,
    ),
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

/** Looks at the server as the pool will see it, and refuses a user that could see more than its tenant. */
async function inspect(app: Address, binding: Binding | 'auto'): Promise<Server> {
  const client = await openClient(app)
  try {
    await requireHarmless(client)
  } finally {
    await client.end()
  }
  return inspectServer(app, binding)
}
