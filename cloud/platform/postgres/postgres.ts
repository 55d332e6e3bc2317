import { chownSync, existsSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { StartError } from '../start-error.ts'
import { type Account, candidates, canEnter, chooseAccount, type Owner, systemUsers } from './account.ts'
import { findBinaries, linkLibraries } from './binaries.ts'
import { isNewFolder, makeDataFolder, superuser } from './data-folder.ts'
import { endLeftovers, findHolder, holdHome, readPostmaster } from './instance.ts'
import { openLog } from './log.ts'
import { type ServerExit, startServer, untilReady } from './server.ts'
import { isOff, type Settings, serverArguments } from './settings.ts'
import { prepareSocketFolder, removeSocketFolder, socketFolders, socketPort } from './socket-folder.ts'
import { supervise } from './supervisor.ts'

/** In the form that the driver takes; the host is the folder of the socket. */
export type Connection = { host: string; port: number; user: string; database: string }

export type EmbeddedPostgres = {
  connection: Connection
  /** Resolves when the server has ended for good: it was stopped, or its data folder is gone. */
  exited: Promise<ServerExit>
  /** Ends the server and its connections; resolves when it is down and the home is free again. */
  stop(): Promise<void>
}

export type PostgresOptions = {
  home: string
  /** Replace the defaults one by one. */
  settings?: Settings
  log?: (sentence: string) => void
  /** Called when the server ended unexpectedly and is restarted. */
  warn?: (sentence: string) => void
}

type Places = { home: string; folder: string; data: string; lock: string; log: string; spareLibraries: string }

/** Starts the server of a home and keeps it running; makes its data folder first where there is none. */
export async function startPostgres({
  home,
  settings = {},
  log = () => {},
  warn = log,
}: PostgresOptions): Promise<EmbeddedPostgres> {
  const binaries = findBinaries()
  const places = prepareHome(home)
  const release = holdHome(places.home, places.lock)
  try {
    const isNew = isNewFolder(places.data, binaries)
    const account = accountFor(places, { program: binaries.postgres, isNew })
    const environment = {
      PATH: process.env.PATH,
      LC_ALL: 'C',
      TZ: 'UTC',
      ...linkLibraries(binaries, places.spareLibraries),
    }
    if (isNew) {
      log('Making the database folder.')
      const durable = !isOff(settings.fsync)
      await makeDataFolder({ folder: places.data, binaries, account, environment, durable })
    }
    const socketFolder = chooseSocketFolder(places.home, account)
    const command = [binaries.postgres, ...serverArguments({ dataFolder: places.data, socketFolder, settings })]
    const server = await supervise({
      async start() {
        await endLeftovers(places.data)
        prepareSocketFolder(socketFolder, account)
        return startServer({ command, account, environment, log: openLog(places.log, account) })
      },
      untilReady: (started) => untilReady(started, { dataFolder: places.data, log }),
      isGone: () => !existsSync(path.join(places.data, 'PG_VERSION')),
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

/** Files and processes fail for reasons outside of this program, such as a full disk. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error
}

/** How to reach the server that another process runs on this home; undefined when none runs or it is not ready yet. */
export function attachPostgres({ home }: { home: string }): Connection | undefined {
  const places = placesOf(path.resolve(home))
  if (findHolder(places.lock) === undefined) return undefined
  const postmaster = readPostmaster(places.data)
  return postmaster?.isReady ? connectionTo(postmaster) : undefined
}

function connectionTo({ socketFolder, port }: { socketFolder: string; port: number }): Connection {
  return { host: socketFolder, port, user: superuser, database: 'postgres' }
}

function placesOf(home: string): Places {
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

/** Others may pass through a new home, because the server may run as another user, but see nothing in it. */
function prepareHome(home: string): Places {
  try {
    mkdirSync(home, { recursive: true, mode: 0o711 })
    const places = placesOf(realpathSync(home))
    mkdirSync(places.folder, { recursive: true, mode: 0o700 })
    return places
  } catch (error) {
    throw new StartError(`The home ${home} cannot be used: ${error instanceof Error ? error.message : error}.`)
  }
}

function accountFor(places: Places, needs: { program: string; isNew: boolean }): Account {
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  const data = needs.isNew ? undefined : ownerOf(places.data)
  const known = { self, home: ownerOf(places.home), data, users: systemUsers() }
  if (self.uid !== 0 && data !== undefined && data.uid !== self.uid) {
    throw new StartError(
      `${places.data} belongs to user ${data.uid}: start Millwright as that user, or use another home.`,
    )
  }
  const folders = [needs.program, places.home]
  const account = chooseAccount(candidates(known), { folders, isNew: needs.isNew })
  if (self.uid === 0) chownSync(places.folder, account.uid, account.gid)
  return account
}

function ownerOf(folder: string): Owner {
  const { uid, gid } = statSync(folder)
  return { uid, gid }
}

function chooseSocketFolder(home: string, account: Account): string {
  const folders = socketFolders(home, os.tmpdir())
  const found = folders.find((folder) => canEnter(account, path.dirname(folder))) ?? folders.at(-1)
  if (found === undefined)
    throw new StartError('There is no folder for temporary files that is short enough for a socket.')
  return found
}
