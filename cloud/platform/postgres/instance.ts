import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { StartError } from '../start-error.ts'
import { backendsOf, commandOf, type Identity, identify, isServerOf } from './processes.ts'

const pollMs = 25
const leftoverLimitMs = 20_000

export type Holder = { pid: number; started: string | undefined; since: string }

/** The content of the server's pid file. */
export type Postmaster = { pid: number; port: number; socketFolder: string; isReady: boolean }

/** Locks the home, so that only this process runs a server on it. Returns a function that releases the lock. */
export function lockHome(home: string, lockFile: string): () => void {
  const own: Holder = { pid: process.pid, started: identify(process.pid).started, since: new Date().toISOString() }
  const content = JSON.stringify(own)
  while (!tryCreate(lockFile, content)) {
    const lockText = readText(lockFile)
    const holder = parseHolder(lockText)
    if (holder !== undefined && isHeld(holder, identify(holder.pid))) throw homeInUse(home, holder)
    if (lockText !== undefined) removeStale(lockFile, lockText)
  }
  let held = true
  return () => {
    if (held && readText(lockFile) === content) rmSync(lockFile, { force: true })
    held = false
  }
}

function homeInUse(home: string, { pid, since }: Holder): StartError {
  const who = pid === process.pid ? 'this process' : `process ${pid}`
  return new StartError(`${home} is in use by ${who} since ${since}: stop that process first, or use another home.`)
}

/**
 * Returns true if the process that created the lock still runs. The process id alone is not enough, because the system
 * reuses ids.
 */
export function isHeld(holder: Holder, now: Identity): boolean {
  if (!now.alive) return false
  return now.started === undefined || holder.started === undefined || now.started === holder.started
}

/**
 * Parses a lock file. The file is created with its content in one step, so a file that cannot be parsed was damaged by
 * a disk failure.
 */
export function parseHolder(text: string | undefined): Holder | undefined {
  try {
    const { pid, started, since } = JSON.parse(text ?? '')
    return Number.isInteger(pid) && pid > 0 ? { pid, started, since } : undefined
  } catch {
    return undefined
  }
}

export function findHolder(lockFile: string): Holder | undefined {
  const holder = parseHolder(readText(lockFile))
  return holder !== undefined && isHeld(holder, identify(holder.pid)) ? holder : undefined
}

function tryCreate(lockFile: string, content: string): boolean {
  const own = `${lockFile}.${process.pid}`
  try {
    writeFileSync(own, content, { mode: 0o644 })
    linkSync(own, lockFile)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw new StartError(
      `${path.dirname(lockFile)} cannot be written: ${error instanceof Error ? error.message : error}.`,
    )
  } finally {
    rmSync(own, { force: true })
  }
}

/** Removes a stale lock. If a concurrent start has replaced the stale lock, the new lock is put back. */
function removeStale(lockFile: string, stale: string): void {
  const aside = `${lockFile}.${process.pid}.old`
  try {
    renameSync(lockFile, aside)
    if (readText(aside) !== stale) linkSync(aside, lockFile)
  } catch (error) {
    if (!hasCode(error, 'ENOENT') && !hasCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

export function readPostmaster(dataFolder: string): Postmaster | undefined {
  return parsePostmaster(readText(path.join(dataFolder, 'postmaster.pid')))
}

/**
 * Parses the pid file of the server. Its lines are: pid, data folder, start time, port, socket folder, address, shared
 * memory, state.
 */
export function parsePostmaster(text: string | undefined): Postmaster | undefined {
  const lines = (text ?? '').split('\n')
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  const isReady = lines[7]?.trim() === 'ready'
  return { pid, port: Number(lines[3]), socketFolder: lines[4] ?? '', isReady }
}

/**
 * Ends the processes that an earlier server of this home left behind, and removes the pid file of that server, which
 * may be incomplete after a full disk. The backends of a killed postmaster continue to run, and a new postmaster
 * refuses to start while they use shared memory of the data folder. The caller holds the lock of the home, so no other
 * server needs these processes.
 */
export async function endLeftovers(dataFolder: string): Promise<void> {
  const left = readPostmaster(dataFolder)
  if (left !== undefined && isServerOf(commandOf(left.pid), dataFolder)) {
    const running = () => (isServerOf(commandOf(left.pid), dataFolder) ? [left.pid] : [])
    await end(dataFolder, { running, signal: 'SIGINT', killAfterMs: 10_000 })
  }
  await end(dataFolder, { running: () => backendsOf(dataFolder), signal: 'SIGQUIT', killAfterMs: 3_000 })
  rmSync(path.join(dataFolder, 'postmaster.pid'), { force: true })
}

type EndOptions = { running: () => number[]; signal: NodeJS.Signals; killAfterMs: number }

/**
 * Ends processes with a signal. Processes that do not react, such as stopped ones, are killed. The next start recovers
 * the data.
 */
async function end(dataFolder: string, { running, signal, killAfterMs }: EndOptions): Promise<void> {
  const startedAt = Date.now()
  for (const pid of running()) send(pid, signal)
  for (let pids = running(), isKilled = false; pids.length > 0; pids = running()) {
    const elapsedMs = Date.now() - startedAt
    if (elapsedMs > leftoverLimitMs) {
      throw new StartError(
        `PostgreSQL of an earlier start still runs on ${dataFolder} and does not end: end process ${pids.join(', ')} and start again.`,
      )
    }
    if (elapsedMs > killAfterMs && !isKilled) {
      for (const pid of pids) send(pid, 'SIGKILL')
      isKilled = true
    }
    await delay(pollMs)
  }
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) {
      throw new StartError(
        `PostgreSQL of an earlier start still runs as another user: end process ${pid} and start again.`,
      )
    }
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw new StartError(`${file} cannot be read: ${error instanceof Error ? error.message : error}.`)
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
