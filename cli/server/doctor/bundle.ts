import { open, rm, stat, statfs } from 'node:fs/promises'
import { arch, cpus, freemem, loadavg, release, totalmem, type, uptime } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { writeArchive } from '@millwright/cloud/platform/backup/archive.ts'
import { listApplied } from '@millwright/cloud/platform/backup/backup-store.ts'
import { lastBackup } from '@millwright/cloud/platform/backup/last-backup.ts'
import { describeConfiguration } from '@millwright/cloud/platform/configuration.ts'
import { checksumsOf, readApplied, readMigrations } from '@millwright/cloud/platform/database/migrations.ts'
import { withoutLiterals } from '@millwright/cloud/platform/slow-log.ts'
import type { Owner } from '@millwright/cloud/platform/tenants/tenants.ts'
import { productVersion } from '@millwright/cloud/platform/version.ts'
import { migrationSources } from '@millwright/cloud/prepare.ts'
import { type CloudConfiguration, cloudSettings } from '@millwright/cloud/settings.ts'
import { gatewaySettings } from '@millwright/gateway/settings.ts'
import { CommandError, usageError } from '../../output/error-report.ts'
import type { Terminal } from '../../output/terminal.ts'
import { formatBytes, pad } from '../../output/text.ts'
import { clientSettings } from '../../session/settings.ts'
import { withOwnerConnection } from '../database-owner.ts'
import * as store from './bundle-store.ts'
import type { Check } from './checks.ts'
import { linkLogs, tailInHome, tailOf } from './log-tail.ts'
import { Redaction } from './redaction.ts'

export type BundleOptions = {
  file: string
  /** The files with the log of the platform. `-` is standard input. */
  logs: readonly string[]
  checks: readonly Check[]
  /** Undefined if the settings are not valid. */
  configuration: CloudConfiguration | undefined
  /** The address of the platform. */
  url: string
  /** Prints a line of the list of contents. */
  print: (line: string) => Promise<void>
}

/** `Part` is a file of the archive, before its secrets are removed. */
type Part = { name: string; about: string; text: string }

const limits = {
  /** The maximum size of a file in the archive. */
  partCharacters: 2_000_000,
  /** The maximum size of all files in the archive, without compression. */
  totalCharacters: 20_000_000,
  requestMs: 5_000,
  statementMs: 5_000,
  /** The time limit of all queries of the database. */
  databaseMs: 60_000,
} as const

/** Writes the support archive, and prints what it contains. */
export async function writeBundle(terminal: Terminal, options: BundleOptions): Promise<void> {
  const { file, configuration } = options
  const redaction = await Redaction.open({
    environment: terminal.environment,
    settings: { ...cloudSettings, ...clientSettings },
    home: configuration?.home ?? terminal.environment.MILLWRIGHT_HOME ?? cloudSettings.home.default,
    masterKeyFile: configuration?.masterKeyFile,
    vaultTokenFile: configuration?.vaultTokenFile,
  })
  const handle = await openNew(file)
  try {
    const parts = bounded(
      (await collect(terminal, options)).map(({ text, ...part }) => ({ ...part, text: redaction.apply(text) })),
    )
    const entries = Readable.from(parts.map(({ name, text }) => ({ name, content: Buffer.from(text) })))
    await pipeline(Readable.from(writeArchive(entries)), createGzip(), handle.createWriteStream({ flush: true }))
    await printContents(options, parts)
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}

/** Throws an error if the file exists, before the checks run. */
export async function requireNew(file: string): Promise<void> {
  const entry = await stat(file).catch(() => undefined)
  if (entry !== undefined) throw exists(file)
}

function exists(file: string): CommandError {
  return usageError(`${file} already exists.`, 'choose another name')
}

/** Creates the file. Only the user can read it. */
async function openNew(file: string) {
  try {
    return await open(file, 'wx', 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw exists(file)
    throw new CommandError(`${file} cannot be written (${code}).`, { next: 'choose a writable folder' })
  }
}

async function printContents({ file, print }: BundleOptions, parts: readonly Part[]): Promise<void> {
  const { size } = await stat(file)
  await print(`\n${file}, ${formatBytes(size)}, contains:`)
  for (const { name, about, text } of parts)
    await print(`  ${pad(name, 28)}  ${pad(formatBytes(Buffer.byteLength(text)), 9)}  ${about}`)
  await print('Secrets are removed. The archive contains names of tenants and gateways, addresses and paths.')
  await print(`Read the files before you send the archive: tar xzf ${basename(file)}`)
}

/** Limits the size of each file and of the archive. The first files are the most important. */
function bounded(parts: readonly Part[]): Part[] {
  let left: number = limits.totalCharacters
  return parts.map((part) => {
    const most = Math.min(left, limits.partCharacters)
    const text = part.text.length > most ? `${part.text.slice(0, most)}\n… (truncated)\n` : part.text
    left = Math.max(0, left - text.length)
    return { ...part, text }
  })
}

async function collect(terminal: Terminal, options: BundleOptions): Promise<Part[]> {
  const { checks, configuration } = options
  return [
    json('checks.json', 'results of the checks', checks),
    json('settings.json', 'settings, without secrets', describeSettings(terminal)),
    json('machine.json', 'versions, memory, disk space', await describeMachine(configuration)),
    ...(await platformParts(options)),
    ...(await databaseParts(terminal, options)),
    ...(await logParts(terminal, options)),
  ]
}

function json(name: string, about: string, value: unknown): Part {
  return { name, about, text: `${JSON.stringify(value, undefined, 2)}\n` }
}

/** Returns an error as the content of a file, so that the other files of the archive are still written. */
function failure(error: unknown): { error: string } {
  return { error: error instanceof Error ? error.message : String(error) }
}

function describeSettings({ environment }: Terminal): unknown {
  const gateway = Object.values(gatewaySettings).map(({ variable, fallback }) => {
    const value = environment[variable] ?? ''
    return { variable, value: value === '' ? fallback : value, set: value !== '' }
  })
  try {
    const platform = describeConfiguration({ ...cloudSettings, ...clientSettings }, environment)
    return [...platform.map(({ variable, value, set }) => ({ variable, value, set })), ...gateway]
  } catch (error) {
    return failure(error)
  }
}

async function describeMachine(configuration: CloudConfiguration | undefined): Promise<unknown> {
  const home = resolve(configuration?.home ?? '.')
  const disk = await statfs(home).then(
    ({ bavail, blocks, bsize }) => ({ freeBytes: bavail * bsize, sizeBytes: blocks * bsize }),
    failure,
  )
  return {
    createdAt: new Date().toISOString(),
    product: productVersion,
    node: process.versions.node,
    system: { type: type(), release: release(), architecture: arch(), uptimeSeconds: Math.round(uptime()) },
    processors: { count: cpus().length, model: cpus()[0]?.model, load: loadavg() },
    memory: { totalBytes: totalmem(), freeBytes: freemem() },
    home,
    disk,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    lastBackup: (await lastBackup(home))?.toISOString() ?? null,
  }
}

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]']

async function platformParts({ url, configuration }: BundleOptions): Promise<Part[]> {
  // The token is sent only to the platform of these settings.
  const isOwn = url === configuration?.baseUrl || loopbackHosts.includes(new URL(url).hostname)
  const token = isOwn ? configuration?.metricsToken : undefined
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const signal = AbortSignal.timeout(limits.requestMs)
    const response = await fetch(new URL(path, url), { headers, signal, redirect: 'manual' })
    return { status: response.status, body: (await response.text()).slice(0, limits.partCharacters) }
  }
  const readiness = Object.fromEntries(
    await Promise.all(['/readyz', '/version'].map(async (path) => [path, await get(path).catch(failure)] as const)),
  )
  const metrics = await get('/metrics', token === undefined ? {} : { authorization: `Bearer ${token}` }).catch(failure)
  const text = 'error' in metrics ? `# ${metrics.error}\n` : metrics.body
  return [
    json('readiness.json', 'state and version of the platform', readiness),
    { name: 'metrics.txt', about: 'metrics of the platform', text },
  ]
}

const databaseFiles = {
  'migrations.json': { about: 'migrations of the database', read: readMigrationState },
  'tables.json': { about: 'sizes of tables and indexes', read: readSizes },
  'statements.json': { about: 'slow statements without values, connections', read: readLoad },
  'gateways.json': { about: 'gateways, without keys', read: store.readGateways },
} as const

/** Reads the files that need the database. If it is not reachable, each file contains the reason. */
async function databaseParts(terminal: Terminal, { checks, configuration }: BundleOptions): Promise<Part[]> {
  const results = new Map<string, unknown>()
  const files = Object.entries(databaseFiles)
  const unreachable = checks.find(({ name, outcome }) => name === 'Database' && outcome !== 'ok')
  const read = (owner: Owner) => readAll(owner, results)
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('The database did not respond in time')), limits.databaseMs)
  let reason: unknown = new Error(unreachable?.detail ?? 'The settings are not valid')
  if (unreachable === undefined && configuration !== undefined)
    reason = await Promise.race([withOwnerConnection(terminal.environment, read), late.promise]).catch(
      (error: unknown) => error,
    )
  clearTimeout(timer)
  return files.map(([name, { about }]) => json(name, about, results.get(name) ?? failure(reason)))
}

async function readAll(owner: Owner, results: Map<string, unknown>): Promise<void> {
  await store.limitStatements(owner, limits.statementMs)
  for (const [name, { read }] of Object.entries(databaseFiles))
    results.set(name, await read(owner).catch((error: unknown) => failure(error)))
}

async function readMigrationState(owner: Owner): Promise<unknown> {
  const known = [...checksumsOf(await readMigrations(migrationSources)).keys()]
  const applied = (await listApplied(owner)).length === 0 ? [] : [...(await readApplied(owner)).keys()]
  return {
    applied,
    pending: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  }
}

async function readSizes(owner: Owner): Promise<unknown> {
  return { tables: await store.readTables(owner), indexes: await store.readIndexes(owner) }
}

async function readLoad(owner: Owner): Promise<unknown> {
  const hasStatistics = await store.hasStatementStatistics(owner)
  return {
    settings: await store.readServerSettings(owner),
    connections: await store.readConnections(owner),
    statements: hasStatistics
      ? (await store.readSlowStatements(owner).catch(() => [])).filter(isShown).map(withoutValues)
      : 'The extension pg_stat_statements is not installed',
  }
}

/** Returns whether a statement is shown. Commands for roles can contain passwords. */
function isShown({ text }: { text: string }): boolean {
  return !/\b(?:password|role|user|server|subscription)\b/i.test(text.slice(0, 200))
}

function withoutValues<Row extends { text: string }>(row: Row): Row {
  return { ...row, text: withoutLiterals(row.text) }
}

async function logParts(terminal: Terminal, { logs, configuration }: BundleOptions): Promise<Part[]> {
  const parts: Part[] = []
  for (const [index, log] of logs.entries()) {
    const name = log === '-' ? 'standard-input.log' : `${index + 1}-${basename(log)}`
    parts.push({ name: `logs/${name}`, about: 'log of the platform', text: await tailOf(log, terminal) })
  }
  if (configuration === undefined) return parts
  const home = resolve(configuration.home)
  const files = [
    { path: join(home, 'postgres', 'postgres.log'), about: 'log of the embedded database' },
    ...(await linkLogs(join(home, 'gateway', 'links'))).map((path) => ({ path, about: 'log of a link' })),
  ]
  for (const { path, about } of files) {
    const text = await tailInHome(path).catch(() => '')
    if (text !== '') parts.push({ name: `logs/${basename(path)}`, about, text })
  }
  return parts
}
