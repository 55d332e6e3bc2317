import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { StartError } from '../start-error.ts'
import { type Account, as } from './account.ts'
import type { Binaries } from './binaries.ts'
import { meaningfulLine } from './log.ts'

export const superuser = 'millwright'
const unfinished = 'data.unfinished-'

/** Returns true if the data folder does not exist yet. Throws if this PostgreSQL cannot use an existing data folder. */
export function isNew({
  folder,
  entries,
  version,
  supported,
}: {
  folder: string
  entries: string[]
  version: string | undefined
  supported: string
}): boolean {
  if (entries.length === 0) return true
  if (version === undefined) {
    throw new StartError(
      `The folder ${folder} contains files but no PostgreSQL data: move them to another place, or use another home.`,
    )
  }
  if (version !== supported) {
    throw new StartError(
      `The data in ${folder} was written by PostgreSQL ${version}, but this version of Millwright uses PostgreSQL ${supported}: start the version that wrote the data, or use another home.`,
    )
  }
  return false
}

export function isNewFolder(folder: string, binaries: Binaries): boolean {
  const entries = readOr([], () => readdirSync(folder))
  const version = readOr(undefined, () => readFileSync(path.join(folder, 'PG_VERSION'), 'utf8').trim())
  return isNew({ folder, entries, version, supported: binaries.majorVersion })
}

function readOr<Value>(fallback: Value, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return fallback
    throw new StartError(`PostgreSQL's data cannot be read: ${error instanceof Error ? error.message : error}.`)
  }
}

/**
 * Creates the data folder under a temporary name and renames it when it is complete, so that an interruption leaves no
 * incomplete data folder.
 */
export async function createDataFolder({
  folder,
  binaries,
  account,
  environment,
  durable,
}: {
  folder: string
  binaries: Binaries
  account: Account
  environment: NodeJS.ProcessEnv
  durable: boolean
}): Promise<void> {
  const parent = path.dirname(folder)
  removeUnfinished(parent)
  const fresh = path.join(parent, `${unfinished}${randomBytes(6).toString('hex')}`)
  const { program, programArguments, options } = as(account, binaries.initdb, initdbArguments(fresh, durable))
  const initdb = spawn(program, programArguments, {
    ...options,
    cwd: parent,
    env: environment,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise<number | null>((resolve, reject) => initdb.once('error', reject).once('close', resolve))
  const [code, errors] = await Promise.all([ended, text(initdb.stderr)])
  if (code !== 0) {
    removeUnfinished(parent)
    throw new StartError(`PostgreSQL could not create its data folder ${folder}: ${meaningfulLine(errors)}.`)
  }
  renameSync(fresh, folder)
  if (durable) syncFolder(parent)
}

/**
 * Removes unfinished data folders. If the parent of an initdb process was killed, initdb may still write. It ends when
 * its folder is removed.
 */
function removeUnfinished(parent: string): void {
  for (const entry of readdirSync(parent)) {
    if (entry.startsWith(unfinished)) rmSync(path.join(parent, entry), { recursive: true, force: true, maxRetries: 10 })
  }
}

function initdbArguments(folder: string, durable: boolean): string[] {
  return [
    `--pgdata=${folder}`,
    `--username=${superuser}`,
    '--auth-local=trust',
    '--auth-host=reject',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ]
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
