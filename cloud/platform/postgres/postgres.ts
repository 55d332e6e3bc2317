import { chownSync, existsSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { StartError } from '../start-error.ts'
import { type Account, candidates, canEnter, chooseAccount, type Owner, systemUsers } from './account.ts'
import { findBinaries, linkLibraries } from './binaries.ts'
import { createDataFolder, isNewFolder, superuser } from './data-folder.ts'
import { endLeftovers, findHolder, lockHome, readPostmaster } from './instance.ts'
import { openLog } from './log.ts'
import { type ServerExit, startServer, untilReady } from './server.ts'
import { isOff, type Settings, serverArguments } from './settings.ts'
import { prepareSocketFolder, removeSocketFolder, socketFolders, socketPort } from './socket-folder.ts'
import { supervise } from './supervisor.ts'

/** The address of the server in the format of the driver. `host` is the folder of the socket. */
export type Connection = { host: string; port: number; user: string; database: string }

export type EmbeddedPostgres = {
  connection: Connection
  /** Resolves when the server has ended permanently, because it was stopped or its data folder was deleted. */
  exited: Promise<ServerExit>
  /** Ends the server and its connections. Resolves when the server is down and the home is unlocked. */
  stop(): Promise<void>
}

export type PostgresOptions = {
  home: string
  /** Settings that replace the defaults. */
  settings?: Settings
  log?: (sentence: string) => void
  /** Called when the server has ended unexpectedly and will be restarted. */
  warn?: (sentence: string) => void
}

type HomePaths = { home: string; folder: string; data: string; lock: string; log: string; spareLibraries: string }

/** Starts the server of a home and keeps it running. Creates its data folder if it does not exist. */
export async function startPostgres({
  home,
  settings = {},
  log = () => {},
  warn = log,
}: PostgresOptions): Promise<EmbeddedPostgres> {
  const binaries = findBinaries()
  const paths = prepareHome(home)
  const release = lockHome(paths.home, paths.lock)
  try {
    const isNew = isNewFolder(paths.data, binaries)
    const account = accountFor(paths, { program: binaries.postgres, isNew })
    const environment = {
      PATH: process.env.PATH,
      LC_ALL: 'C',
      TZ: 'UTC',
      ...linkLibraries(binaries, paths.spareLibraries),
    }
    if (isNew) {
      log('Creating the database folder.')
      const durable = !isOff(settings.fsync)
      await createDataFolder({ folder: paths.data, binaries, account, environment, durable })
    }
    const socketFolder = chooseSocketFolder(paths.home, account)
    const command = [binaries.postgres, ...serverArguments({ dataFolder: paths.data, socketFolder, settings })]
    const server = await supervise({
      async start() {
        await endLeftovers(paths.data)
        prepareSocketFolder(socketFolder, account)
        return startServer({ command, account, environment, log: openLog(paths.log, account) })
      },
      untilReady: (started) => untilReady(started, { dataFolder: paths.data, log }),
      isGone: () => !existsSync(path.join(paths.data, 'PG_VERSION')),
      warn,
    }).catch((error: unknown) => {
      removeSocketFolder(socketFolder)
      throw error
    })
    server.exited.then(() => {
      removeSocketFolder(socketFolder)
      release()
    })
    return { connection: connectionTo({ socketFolder, port: socketPort }), exited: server.exited, stop: server.stop }
  } catch (error) {
    release()
    throw isSystemError(error) ? new StartError(`PostgreSQL did not start: ${error.message}.`, { cause: error }) : error
  }
}

/** Returns true for errors of files and processes. Their causes are outside this program, such as a full disk. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error
}

/** Returns the address of a server that another process runs on this home. Returns undefined if no server is ready. */
export function attachPostgres({ home }: { home: string }): Connection | undefined {
  const paths = pathsOf(path.resolve(home))
  if (findHolder(paths.lock) === undefined) return undefined
  const postmaster = readPostmaster(paths.data)
  return postmaster?.isReady ? connectionTo(postmaster) : undefined
}

function connectionTo({ socketFolder, port }: { socketFolder: string; port: number }): Connection {
  return { host: socketFolder, port, user: superuser, database: 'postgres' }
}

function pathsOf(home: string): HomePaths {
  const folder = path.join(home, 'postgres')
  return {
    home,
    folder,
    data: path.join(folder, 'data'),
    lock: path.join(folder, 'lock'),
    log: path.join(folder, 'postgres.log'),
    spareLibraries: path.join(folder, 'lib'),
  }
}

/** Creates the home. Other users can enter it, because the server may run as another user. They cannot read it. */
function prepareHome(home: string): HomePaths {
  try {
    mkdirSync(home, { recursive: true, mode: 0o711 })
    const paths = pathsOf(realpathSync(home))
    mkdirSync(paths.folder, { recursive: true, mode: 0o700 })
    return paths
  } catch (error) {
    throw new StartError(`The home ${home} cannot be used: ${error instanceof Error ? error.message : error}.`)
  }
}

function accountFor(paths: HomePaths, needs: { program: string; isNew: boolean }): Account {
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  const data = needs.isNew ? undefined : ownerOf(paths.data)
  const owners = { self, home: ownerOf(paths.home), data, users: systemUsers() }
  if (self.uid !== 0 && data !== undefined && data.uid !== self.uid) {
    throw new StartError(
      `${paths.data} belongs to user ${data.uid}: start Millwright as that user, or use another home.`,
    )
  }
  const folders = [needs.program, paths.home]
  const account = chooseAccount(candidates(owners), { folders, isNew: needs.isNew })
  if (self.uid === 0) chownSync(paths.folder, account.uid, account.gid)
  return account
}

function ownerOf(folder: string): Owner {
  const { uid, gid } = statSync(folder)
  return { uid, gid }
}

function chooseSocketFolder(home: string, account: Account): string {
  const folders = socketFolders(home, os.tmpdir())
  const socketFolder = folders.find((folder) => canEnter(account, path.dirname(folder))) ?? folders.at(-1)
  if (socketFolder === undefined)
    throw new StartError(
      'The path of every temporary folder is too long for a socket: set TMPDIR to a folder with a shorter path.',
    )
  return socketFolder
}
