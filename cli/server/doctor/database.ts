import { access } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { openMasterKeys } from '@millwright/cloud/master-key-places.ts'
import { listApplied } from '@millwright/cloud/platform/backup/backup-store.ts'
import { readMigrations } from '@millwright/cloud/platform/database/migrations.ts'
import { openSecrets } from '@millwright/cloud/platform/secrets/opening.ts'
import type { Owner } from '@millwright/cloud/platform/tenants/tenants.ts'
import { migrationSources, oldestPostgres } from '@millwright/cloud/prepare.ts'
import type { CloudConfiguration } from '@millwright/cloud/settings.ts'
import type { Environment } from '../../output/terminal.ts'
import { asPlainOwner } from '../database-owner.ts'
import { type Check, examined } from './checks.ts'
import { findRole, hasPlatformKeys, listHeads, listUnprotected, readBacklog, readServer } from './doctor-store.ts'

const clockToleranceSeconds = 5

/** Everything about the database, as its owner; a server of the home is started for it when none runs. */
export async function checkDatabase(environment: Environment, configuration: CloudConfiguration): Promise<Check[]> {
  const { databaseUrl, home } = configuration
  if (databaseUrl === undefined && !(await isThere(join(resolve(home), 'postgres')))) {
    return [{ name: 'Database', outcome: 'skip', detail: 'there is none yet: it is made at the first start' }]
  }
  return examined('Database', () =>
    asPlainOwner(environment, async (owner) => {
      const reached = await checkServer(owner)
      const migrations = await examined('Tables', () => checkMigrations(owner))
      if ((await listApplied(owner)).length === 0) return [...reached, ...migrations]
      const looks: [string, () => Promise<Check | Check[]>][] = [
        ['Tenants', () => checkPolicies(owner)],
        ['Role', () => checkRole(owner, configuration)],
        ['Master key', () => checkMasterKey(owner, configuration)],
        ['Background', () => checkBacklog(owner)],
        ['Audit', () => checkAudit(owner)],
      ]
      const found: Check[] = []
      for (const [name, look] of looks) found.push(...(await examined(name, look)))
      return [...reached, ...migrations, ...found]
    }),
  )
}

function isThere(path: string): Promise<boolean> {
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
        next: `${oldestPostgres} or newer is needed`,
      }
    : { name: 'Database', outcome: 'ok', detail: `PostgreSQL ${versionName} answers` }
  if (Math.abs(away) <= clockToleranceSeconds)
    return [server, { name: 'Clock', outcome: 'ok', detail: 'agrees with the database' }]
  const detail = `the database is ${Math.abs(away)} s ${away > 0 ? 'ahead' : 'behind'}`
  return [server, { name: 'Clock', outcome: 'warn', detail, next: 'let both take the time from one place (NTP)' }]
}

async function checkMigrations(owner: Owner): Promise<Check> {
  const name = 'Tables'
  const known = new Map(
    (await readMigrations(migrationSources)).map((one) => [`${one.module}/${one.name}`, one.checksum]),
  )
  const applied = new Map((await listApplied(owner)).map((one) => [`${one.module}/${one.name}`, one.checksum]))
  const newer = [...applied.keys()].find((id) => !known.has(id))
  if (newer !== undefined) {
    return {
      name,
      outcome: 'fail',
      detail: `made by a newer version (${newer})`,
      next: 'use that version, or restore a backup',
    }
  }
  const changed = [...applied].find(([id, checksum]) => known.get(id) !== checksum)
  if (changed !== undefined) {
    return {
      name,
      outcome: 'fail',
      detail: `the migration ${changed[0]} was changed`,
      next: 'restore the file as it was',
    }
  }
  const pending = known.size - applied.size
  if (pending === 0) return { name, outcome: 'ok', detail: `as this version needs them (${known.size} migrations)` }
  return {
    name,
    outcome: 'warn',
    detail: `${pending} migrations are to come`,
    next: 'back up, then start this version',
  }
}

async function checkPolicies(owner: Owner): Promise<Check> {
  const open = await listUnprotected(owner)
  if (open.length === 0) return { name: 'Tenants', outcome: 'ok', detail: 'every table with a tenant has its policy' }
  const next = 'somebody took it away: start the platform, or ask who has owner rights on the database'
  return { name: 'Tenants', outcome: 'fail', detail: `no policy protects ${open.join(', ')}`, next }
}

async function checkRole(owner: Owner, { databaseAppUrl }: CloudConfiguration): Promise<Check> {
  const { database } = await readServer(owner)
  const given = databaseAppUrl === undefined ? undefined : /^\w+:\/\/([^:@/]+)/.exec(databaseAppUrl)?.[1]
  const wanted = given === undefined ? `${database}_app` : decodeURIComponent(given)
  const role = await findRole(owner, wanted)
  if (role === undefined) {
    return { name: 'Role', outcome: 'warn', detail: `${wanted} is not there`, next: 'it is made at the next start' }
  }
  const fault = role.superuser
    ? 'is a superuser'
    : role.bypass
      ? 'may bypass row-level security'
      : role.owned > 0
        ? 'owns tables'
        : undefined
  if (fault === undefined) return { name: 'Role', outcome: 'ok', detail: `${wanted} sees one tenant at a time` }
  return { name: 'Role', outcome: 'fail', detail: `${wanted} ${fault}`, next: 'give the application a role of its own' }
}

async function checkMasterKey(owner: Owner, configuration: CloudConfiguration): Promise<Check> {
  const name = 'Master key'
  const home = resolve(configuration.home)
  const masterKeys = await openMasterKeys(configuration, home)
  if (masterKeys.place !== 'Vault' && masterKeys.ids.length === 0) {
    const next = `put it back into ${join(home, 'master.key')}, or set MILLWRIGHT_MASTER_KEY`
    return { name, outcome: 'fail', detail: 'it is not there', next }
  }
  if (!(await hasPlatformKeys(owner))) return { name, outcome: 'skip', detail: 'nothing is sealed under it yet' }
  await openSecrets(owner, masterKeys)
  return { name, outcome: 'ok', detail: `opens what is sealed in the database (${masterKeys.place})` }
}

async function checkBacklog(owner: Owner): Promise<Check[]> {
  const { waitingJobs, oldestMinutes, failedJobs, queuedWrites } = await readBacklog(owner)
  const isLate = oldestMinutes > 5
  const queue: Check = {
    name: 'Background',
    outcome: isLate ? 'warn' : 'ok',
    detail: `${waitingJobs} jobs due, ${queuedWrites} writes queued${isLate ? `, the oldest for ${oldestMinutes} minutes` : ''}`,
    ...(isLate ? { next: 'start the platform; if it runs, it has more to do than it can' } : {}),
  }
  if (failedJobs === 0) return [queue]
  const detail = `${failedJobs} background jobs were given up`
  return [
    queue,
    { name: 'Background', outcome: 'warn', detail, next: 'the log says why; column last_error of the table jobs too' },
  ]
}

async function checkAudit(owner: Owner): Promise<Check> {
  const { unsealed } = await readBacklog(owner)
  if (unsealed > 0) {
    const next = 'start the platform: it seals them; the longer they wait, the longer they can be changed unseen'
    return { name: 'Audit', outcome: 'warn', detail: `${unsealed} entries wait for their seal`, next }
  }
  const heads = (await listHeads(owner)).map(
    ({ tenant, sequence, hash }) => `${tenant} ${sequence}:${hash.slice(0, 12)}`,
  )
  return {
    name: 'Audit',
    outcome: 'ok',
    detail: heads.length === 0 ? 'nothing is sealed yet' : `sealed up to ${heads.join(', ')}`,
  }
}
