import { Problem } from '@millwright/api/problem.ts'
import { openMasterKeys } from '@millwright/cloud/master-key-places.ts'
import { systemCaller } from '@millwright/cloud/platform/access/system.ts'
import { type AuditRecord, recordOutside } from '@millwright/cloud/platform/audit/audit.ts'
import { type Address, openClient } from '@millwright/cloud/platform/database/connection.ts'
import { Database } from '@millwright/cloud/platform/database/database.ts'
import { isLostWorker } from '@millwright/cloud/platform/database/transient.ts'
import { attachPostgres, startPostgres } from '@millwright/cloud/platform/postgres/postgres.ts'
import type { MasterKeys } from '@millwright/cloud/platform/secrets/master-keys.ts'
import type { Secrets } from '@millwright/cloud/platform/secrets/secrets.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import { prepareDatabase } from '@millwright/cloud/prepare.ts'
import { type CloudConfiguration, readCloudConfiguration } from '@millwright/cloud/settings.ts'
import { createHome, embeddedOwner, ensureDatabase } from '@millwright/cloud/start.ts'
import type { Environment } from '../output/terminal.ts'
import { formatCount } from '../output/text.ts'

type Owner = Awaited<ReturnType<typeof openClient>>

export type OwnerContext = {
  masterKeys: MasterKeys
  secrets: Secrets
  configuration: CloudConfiguration
  appRole: string
  /** Opens the database with the application role, which sees only one tenant at a time. */
  openDatabase(): Promise<Database>
}

/**
 * Runs `work` as the owner of the database, whether the platform is running or not. Starts the embedded database server
 * if it is not running. Applies pending migrations first. `onProgress` receives the steps of an interrupted distribution
 * that is completed.
 */
export async function withDatabaseOwner<Result>(
  environment: Environment,
  work: (owner: Owner, parts: OwnerContext) => Promise<Result>,
  onProgress?: (line: string) => void,
): Promise<Result> {
  const configuration = readCloudConfiguration({ ...environment })
  const home = await createHome(configuration.home)
  const masterKeys = await openMasterKeys(configuration, home)
  const engine = await connectDatabaseServer(configuration.databaseUrl, home)
  const app = configuration.databaseAppUrl === undefined ? undefined : { url: configuration.databaseAppUrl }
  try {
    const prepared = await prepareDatabase({
      owner: engine.address,
      app,
      binding: configuration.tenantBinding,
      masterKeys,
      onProgress,
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
 * Runs `work` as the owner of the database. Needs no master key and applies no migrations, so it also works with older
 * schemas.
 */
export async function withOwnerConnection<Result>(
  environment: Environment,
  work: (owner: Owner, configuration: CloudConfiguration) => Promise<Result>,
): Promise<Result> {
  const configuration = readCloudConfiguration({ ...environment })
  const engine = await connectDatabaseServer(configuration.databaseUrl, await createHome(configuration.home))
  try {
    const owner = await openClient(engine.address).catch((error: Error) => {
      throw new StartError(
        `The database is not reachable (${error.message}). Check DATABASE_URL and that the server is running.`,
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

/**
 * Records an action of the database owner in the audit trail of each tenant. The action is already done, so a tenant
 * whose server is not reachable, or whose creation or deletion was interrupted, is left out with a warning.
 */
export async function recordForTenants(
  { openDatabase }: OwnerContext,
  tenantIds: readonly string[],
  entry: AuditRecord,
): Promise<void> {
  await using database = await openDatabase()
  let leftOut = 0
  for (const tenantId of tenantIds) {
    await recordOutside(database, { tenantId }, systemCaller(), entry).catch((error: unknown) => {
      const isMissing = error instanceof Problem && error.code === 'not_found'
      if (!isMissing && !isLostWorker(error)) throw error
      leftOut++
    })
  }
  if (leftOut === 0) return
  process.stderr.write(
    `Warning: ${entry.action} is not recorded in the audit trail of ${formatCount(leftOut, 'tenant')}. The database server of the tenant is not reachable, or the creation or deletion of the tenant was interrupted.\n`,
  )
}

type DatabaseServer = { address: Address; stop(): Promise<void> }

export async function connectDatabaseServer(url: string | undefined, home: string): Promise<DatabaseServer> {
  if (url !== undefined) return { address: { url }, stop: async () => {} }
  const running = attachPostgres({ home })
  if (running !== undefined) return { address: embeddedOwner(running), stop: async () => {} }
  const postgres = await startPostgres({ home })
  await ensureDatabase(postgres.connection)
  return { address: embeddedOwner(postgres.connection), stop: postgres.stop }
}
