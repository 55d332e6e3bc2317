import { access } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { openMasterKeys } from '@millwright/cloud/master-key-places.ts'
import { listApplied } from '@millwright/cloud/platform/backup/backup-store.ts'
import { requireCompatible } from '@millwright/cloud/platform/database/compatibility.ts'
import { checksumsOf, readApplied, readMigrations } from '@millwright/cloud/platform/database/migrations.ts'
import { openSecrets } from '@millwright/cloud/platform/secrets/opening.ts'
import type { Owner } from '@millwright/cloud/platform/tenants/tenants.ts'
import { migrationSources, oldestPostgres } from '@millwright/cloud/prepare.ts'
import type { CloudConfiguration } from '@millwright/cloud/settings.ts'
import type { Environment } from '../../output/terminal.ts'
import { formatCount } from '../../output/text.ts'
import { withOwnerConnection } from '../database-owner.ts'
import { type Check, runCheck } from './checks.ts'
import { checkCluster } from './cluster.ts'
import { findRole, hasPlatformKeys, listHeads, listUnprotected, readBacklog, readServer } from './doctor-store.ts'

const clockToleranceSeconds = 5

/** Checks the database as its owner. Starts the embedded database server for the checks if it is not running. */
export async function checkDatabase(environment: Environment, configuration: CloudConfiguration): Promise<Check[]> {
  const { databaseUrl, home } = configuration
  if (databaseUrl === undefined && !(await exists(join(resolve(home), 'postgres')))) {
    return [{ name: 'Database', outcome: 'skip', detail: 'not created yet: the first start creates it' }]
  }
  return runCheck('Database', () =>
    withOwnerConnection(environment, async (owner) => {
      const server = await checkServer(owner)
      const migrations = await runCheck('Tables', () => checkMigrations(owner))
      if ((await listApplied(owner)).length === 0) return [...server, ...migrations]
      let isReachable = true
      const cluster = await runCheck('Cluster', async () => {
        const found = await checkCluster(owner, await applicationRole(owner, configuration))
        isReachable = found.isReachable
        return found.checks
      })
      const checks: [string, () => Promise<Check | Check[]>][] = [
        ['Tenants', () => checkPolicies(owner)],
        ['Role', () => checkRole(owner, configuration)],
        ['Master key', () => checkMasterKey(owner, configuration)],
        ['Background', () => (isReachable ? checkBacklog(owner) : skipped('Background'))],
        ['Audit', () => (isReachable ? checkAudit(owner) : skipped('Audit'))],
      ]
      const results: Check[] = []
      for (const [name, check] of checks) results.push(...(await runCheck(name, check)))
      return [...server, ...migrations, ...cluster, ...results]
    }),
  )
}

/** A check that reads the data of all tenants is skipped while a worker of the cluster is down. */
async function skipped(name: string): Promise<Check> {
  return { name, outcome: 'skip', detail: 'a worker of the cluster is not reachable' }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

async function checkServer(owner: Owner): Promise<Check[]> {
  const before = Date.now()
  const { version, versionName, clock } = await readServer(owner)
  const away = Math.round((Date.parse(clock) - (before + Date.now()) / 2) / 1000)
  const isOld = version < oldestPostgres
  const server: Check = isOld
    ? {
        name: 'Database',
        outcome: 'fail',
        detail: `PostgreSQL ${versionName}`,
        next: `use version ${oldestPostgres} or newer`,
      }
    : { name: 'Database', outcome: 'ok', detail: `PostgreSQL ${versionName} is reachable` }
  if (Math.abs(away) <= clockToleranceSeconds)
    return [server, { name: 'Clock', outcome: 'ok', detail: 'agrees with the database' }]
  const detail = `the database is ${Math.abs(away)} s ${away > 0 ? 'ahead' : 'behind'}`
  return [server, { name: 'Clock', outcome: 'warn', detail, next: 'synchronise both clocks (NTP)' }]
}

async function checkMigrations(owner: Owner): Promise<Check> {
  const name = 'Tables'
  const known = checksumsOf(await readMigrations(migrationSources))
  const isEmpty = (await listApplied(owner)).length === 0
  const applied = isEmpty ? new Map<string, never>() : await readApplied(owner)
  const { hasNewer } = requireCompatible({ known, applied }, { acceptNewer: true })
  if (hasNewer) {
    const detail = 'a newer version has migrated the tables, and this version can run on them'
    return { name, outcome: 'warn', detail, next: 'complete the upgrade: replace the processes of this version' }
  }
  const pending = known.size - applied.size
  if (pending === 0) return { name, outcome: 'ok', detail: `up to date (${known.size} migrations)` }
  return {
    name,
    outcome: 'warn',
    detail: `${formatCount(pending, 'migration')} pending`,
    next: 'back up, then start this version',
  }
}

async function checkPolicies(owner: Owner): Promise<Check> {
  const open = await listUnprotected(owner)
  if (open.length === 0)
    return { name: 'Tenants', outcome: 'ok', detail: 'every table with tenant data has a row-level security policy' }
  const next =
    'a database owner removed the policies: start the platform to restore them, and check which accounts own the database'
  return { name: 'Tenants', outcome: 'fail', detail: `no row-level security policy on ${open.join(', ')}`, next }
}

/** Returns the name of the role that requests use. */
async function applicationRole(owner: Owner, { databaseAppUrl }: CloudConfiguration): Promise<string> {
  const configured = databaseAppUrl === undefined ? undefined : /^\w+:\/\/([^:@/]+)/.exec(databaseAppUrl)?.[1]
  return configured === undefined ? `${(await readServer(owner)).database}_app` : decodeURIComponent(configured)
}

async function checkRole(owner: Owner, configuration: CloudConfiguration): Promise<Check> {
  const name = await applicationRole(owner, configuration)
  const role = await findRole(owner, name)
  if (role === undefined) {
    return { name: 'Role', outcome: 'warn', detail: `${name} does not exist`, next: 'the next start creates it' }
  }
  const fault = role.superuser
    ? 'is a superuser'
    : role.bypass
      ? 'may bypass row-level security'
      : role.owned > 0
        ? 'owns tables'
        : undefined
  if (fault === undefined) return { name: 'Role', outcome: 'ok', detail: `${name} reads one tenant at a time` }
  return { name: 'Role', outcome: 'fail', detail: `${name} ${fault}`, next: 'use a separate role for the application' }
}

async function checkMasterKey(owner: Owner, configuration: CloudConfiguration): Promise<Check> {
  const name = 'Master key'
  const home = resolve(configuration.home)
  const masterKeys = await openMasterKeys(configuration, home)
  if (masterKeys.place !== 'Vault' && masterKeys.ids.length === 0) {
    const next = `copy the master key to ${join(home, 'master.key')}, or set MILLWRIGHT_MASTER_KEY`
    return { name, outcome: 'fail', detail: 'missing', next }
  }
  if (!(await hasPlatformKeys(owner))) return { name, outcome: 'skip', detail: 'no secret is encrypted yet' }
  await openSecrets(owner, masterKeys)
  return { name, outcome: 'ok', detail: `decrypts the secrets in the database (${masterKeys.place})` }
}

async function checkBacklog(owner: Owner): Promise<Check[]> {
  const { waitingJobs, oldestMinutes, failedJobs, queuedWrites } = await readBacklog(owner)
  const isLate = oldestMinutes > 5
  const queue: Check = {
    name: 'Background',
    outcome: isLate ? 'warn' : 'ok',
    detail: `${formatCount(waitingJobs, 'task')} due, ${formatCount(queuedWrites, 'write')} queued${isLate ? `, the oldest for ${oldestMinutes} minutes` : ''}`,
    ...(isLate ? { next: 'start the platform; if it is running, it is overloaded' } : {}),
  }
  if (failedJobs === 0) return [queue]
  const detail = `${formatCount(failedJobs, 'background task')} failed permanently`
  return [
    queue,
    { name: 'Background', outcome: 'warn', detail, next: 'see the log, or the column last_error of the table jobs' },
  ]
}

async function checkAudit(owner: Owner): Promise<Check> {
  const { unsealed } = await readBacklog(owner)
  if (unsealed > 0) {
    const next = 'start the platform to seal the entries; changes of unsealed entries cannot be detected'
    return { name: 'Audit', outcome: 'warn', detail: `entries that are not sealed yet: ${unsealed}`, next }
  }
  const heads = (await listHeads(owner)).map(
    ({ tenant, sequence, hash }) => `${tenant} ${sequence}:${hash.slice(0, 12)}`,
  )
  return {
    name: 'Audit',
    outcome: 'ok',
    detail: heads.length === 0 ? 'no entries yet' : `sealed up to ${heads.join(', ')}`,
  }
}
