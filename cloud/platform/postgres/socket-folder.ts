import { createHash } from 'node:crypto'
import { chownSync, lstatSync, mkdirSync, rmSync, type Stats } from 'node:fs'
import path from 'node:path'
import { StartError } from '../start-error.ts'
import type { Account } from './account.ts'

/** The port number. It is only a part of the name of the socket, because the server does not listen on TCP. */
export const socketPort = 5432
/** The longest path of a socket. The limit is 107 bytes on Linux and 103 bytes on macOS. */
const socketPathLimit = 103

/**
 * Returns the possible folders for the socket of a home, best first. Their paths are short enough for a socket, and are
 * the same at each start.
 */
export function socketFolders(home: string, temporary: string): string[] {
  const name = `millwright-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`
  const folders = new Set([path.join(path.resolve(temporary), name), path.join('/tmp', name)])
  return [...folders].filter((folder) => Buffer.byteLength(socketPath(folder)) <= socketPathLimit)
}

function socketPath(folder: string): string {
  return path.join(folder, `.s.PGSQL.${socketPort}`)
}

/**
 * Creates the folder of the socket, which only the server's user and root can enter. All users can write to its parent
 * folder, so an existing folder is checked first. The caller holds the lock of the home, so no server uses a socket
 * that is left in the folder.
 */
export function prepareSocketFolder(folder: string, account: Account): void {
  const self = process.getuid?.() ?? account.uid
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    const stats = lstatSync(folder, { throwIfNoEntry: false })
    if (stats === undefined) throw new StartError(`PostgreSQL's socket needs the folder ${folder}: ${reason(error)}.`)
    const flaw = flawOf(stats, [account.uid, self])
    if (flaw !== undefined) {
      throw new StartError(
        `The folder ${folder} for PostgreSQL's socket is not safe: ${flaw}; delete it, or set TMPDIR to another folder.`,
      )
    }
  }
  if (self !== account.uid) chownSync(folder, account.uid, account.gid)
  for (const leftover of [socketPath(folder), `${socketPath(folder)}.lock`]) rmSync(leftover, { force: true })
}

export function removeSocketFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

/** Returns the reason why a folder is not safe for a socket, or undefined if it is safe. */
export function flawOf(stats: Pick<Stats, 'uid' | 'mode' | 'isDirectory'>, owners: number[]): string | undefined {
  if (!stats.isDirectory()) return 'it is not a folder'
  if (!owners.includes(stats.uid)) return `it belongs to user ${stats.uid}`
  const mode = stats.mode & 0o7777
  return mode === 0o700 ? undefined : `other users can enter it (mode ${mode.toString(8)})`
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
