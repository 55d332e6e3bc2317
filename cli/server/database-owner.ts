import { openMasterKeys } from '@millwright/cloud/master-key-places.ts'
import { systemCaller } from '@millwright/cloud/platform/access/system.ts'
import { type AuditRecord, recordOutside } from '@millwright/cloud/platform/audit/audit.ts'
import { type Address, openClient } from '@millwright/cloud/platform/database/connection.ts'
import { Database } from '@millwright/cloud/platform/database/database.ts'
import { attachPostgres, startPostgres } from '@millwright/cloud/platform/postgres/postgres.ts'
import type { MasterKeys } from '@millwright/cloud/platform/secrets/master-keys.ts'
import type { Secrets } from '@millwright/cloud/platform/secrets/secrets.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import { prepareDatabase } from '@millwright/cloud/prepare.ts'
import { type CloudConfiguration, readCloudConfiguration } from '@millwright/cloud/settings.ts'
import { embeddedOwner, ensureDatabase, makeHome } from '@millwright/cloud/start.ts'
import type { Environment } from '../output/terminal.ts'

type Owner = Awaited<ReturnType<typeof openClient>>

export type OwnerParts = {
  masterKeys: MasterKeys
  secrets: Secrets
  configuration: CloudConfiguration
  appRole: string
  /** The database as the application sees it: within one tenant at a time. */
  openDatabase(): Promise<Database>
}

/**
 * Runs something as the owner of the database, beside a running platform or without one: the server of the home is
 * started for the command when nobody else runs it.
 */
export async function asOwner<Result>(work: (owner: Owner, parts: OwnerParts) => Promise<Result>): Promise<Result> {
  const configuration = readCloudConfiguration(process.env)
  const home = await makeHome(configuration.home)
  const masterKeys = await openMasterKeys(configuration, home)
  const engine = await reachEngine(configuration.databaseUrl, home)
  const app = configuration.databaseAppUrl === undefined ? undefined : { url: configuration.databaseAppUrl }
  try {
    const prepared = await prepareDatabase({
      owner: engine.address,
      app,
      binding: configuration.tenantBinding,
      masterKeys,
    })
    const owner = await openClient(engine.address)
    const openDatabase = async () => new Database({ address: prepared.app, server: prepared.server, connections: 2 })
    try {
      const { secrets, appRole } = prepared
      return await work(owner, { masterKeys, secrets, configuration, appRole, openDatabase })
    } finally {
      await owner.end()
    }
  } finally {
    await engine.stop()
  }
}

/**
 * The same without changing anything first: neither are tables brought forward nor is a key needed, so it also works on
 * what an older version left.
 */
export async function asPlainOwner<Result>(
  environment: Environment,
  work: (owner: Owner, configuration: CloudConfiguration) => Promise<Result>,
): Promise<Result> {
  const configuration = readCloudConfiguration({ ...environment })
  const engine = await reachEngine(configuration.databaseUrl, await makeHome(configuration.home))
  try {
    const owner = await openClient(engine.address).catch((error: Error) => {
      throw new StartError(
        `The database cannot be reached (${error.message}): check DATABASE_URL and that the server runs.`,
      )
    })
    try {
      return await work(owner, configuration)
    } finally {
      await owner.end()
    }
  } finally {
    await engine.stop()
  }
}

/** Puts what the owner did to tenants on their audit trails. */
export async function recordForTenants(
  { openDatabase }: OwnerParts,
  tenantIds: readonly string[],
  entry: AuditRecord,
): Promise<void> {
  await using database = await openDatabase()
  for (const tenantId of tenantIds) await recordOutside(database, { tenantId }, systemCaller(), entry)
}

type Engine = { address: Address; stop(): Promise<void> }

export async function reachEngine(url: string | undefined, home: string): Promise<Engine> {
  if (url !== undefined) return { address: { url }, stop: async () => {} }
  const running = attachPostgres({ home })
  if (running !== undefined) return { address: embeddedOwner(running), stop: async () => {} }
  const postgres = await startPostgres({ home })
  await ensureDatabase(postgres.connection)
  return { address: embeddedOwner(postgres.connection), stop: postgres.stop }
}
