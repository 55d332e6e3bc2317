import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { StartError } from '../start-error.ts'
import { type Account, as } from './account.ts'
import { readPostmaster } from './instance.ts'
import type { ServerLog } from './log.ts'

export type ServerExit = {
  code: number | null
  signal: NodeJS.Signals | null
  /** False if the server ended without a call of `stop`. */
  expected: boolean
  lastLogLine: string
}

export type Server = { pid: number | undefined; exited: Promise<ServerExit>; stop(): Promise<void>; logFile: string }

const pollMs = 25
/** Recovery after a crash reads up to max_wal_size. */
const startLimitMs = 5 * 60_000
const patienceMs = 10_000
const fastStopMs = 8_000

/**
 * The start script of the server. It runs in a new session as the server's user. A second process waits for the end of
 * the pipe, which also closes when this process is killed, and then ends the server. A written line means that the
 * server has ended already. The shell becomes the server, so both have the same pid and exit code. The second process
 * is detached, because the server does not expect children. The pipe is descriptor 3, because a shell gives background
 * processes no standard input.
 */
const watchedServer = `
( (
  read -r done <&3 && exit
  kill -INT $$
  for second in 1 2 3 4 5 6 7 8; do sleep 1; kill -0 $$ || exit; done
  kill -QUIT $$
) & ) </dev/null >/dev/null 2>&1
exec "$@" 3<&-`

/**
 * Starts the server in its own session, so that Ctrl-C in the terminal does not reach it: its owner ends it when it is
 * finished. The server neither keeps the owner's process alive nor outlives it.
 */
export function startServer(given: {
  command: string[]
  account: Account
  environment: NodeJS.ProcessEnv
  log: ServerLog
}): Server {
  const { program, programArguments, options } = as(given.account, '/bin/sh', [
    '-c',
    watchedServer,
    'sh',
    ...given.command,
  ])
  const child = spawn(program, programArguments, {
    ...options,
    cwd: '/',
    env: given.environment,
    detached: true,
    stdio: ['ignore', given.log.descriptor, given.log.descriptor, 'pipe'],
  })
  given.log.close()
  child.unref()
  let expected = false
  const exited = exitOf(child).then((exit) => ({ ...exit, expected, lastLogLine: given.log.lastMeaningfulLine() }))
  return {
    pid: child.pid,
    exited,
    logFile: given.log.file,
    async stop() {
      expected = true
      await end(child, exited)
    },
  }
}

function exitOf(child: ChildProcess): Promise<Pick<ServerExit, 'code' | 'signal'>> {
  const pipe = child.stdio[3]
  if (pipe instanceof Socket) pipe.unref().on('error', () => pipe.destroy())
  return new Promise((resolve) => {
    child.once('error', () => resolve({ code: null, signal: null }))
    child.once('exit', (code, signal) => {
      if (pipe instanceof Socket) pipe.end('done\n', () => pipe.destroy())
      resolve({ code, signal })
    })
  })
}

/**
 * SIGINT ends the connections and writes a checkpoint; SIGQUIT leaves recovery to the next start. A process that was
 * stopped with SIGSTOP handles signals only after SIGCONT.
 */
async function end(child: ChildProcess, exited: Promise<ServerExit>): Promise<void> {
  child.ref()
  child.kill('SIGINT')
  child.kill('SIGCONT')
  const lastResort = setTimeout(() => child.kill('SIGQUIT'), fastStopMs)
  await exited
  clearTimeout(lastResort)
}

/** The server writes its state into its data folder. A query over the socket would need a driver. */
export async function untilReady(
  server: Server,
  { dataFolder, log }: { dataFolder: string; log: (sentence: string) => void },
): Promise<void> {
  const started = Date.now()
  let told = started
  let exit: ServerExit | undefined
  server.exited.then((result) => {
    exit = result
  })
  for (;;) {
    if (exit !== undefined)
      throw new StartError(`PostgreSQL did not start: ${exit.lastLogLine} (log: ${server.logFile}).`)
    const postmaster = readPostmaster(dataFolder)
    if (postmaster?.isReady && postmaster.pid === server.pid) return
    if (Date.now() - started > startLimitMs) {
      await server.stop()
      throw new StartError(`PostgreSQL was not ready after ${startLimitMs / 1000} seconds (log: ${server.logFile}).`)
    }
    if (Date.now() - told > patienceMs) {
      log('PostgreSQL is still starting; after a crash it first recovers the latest writes.')
      told = Date.now()
    }
    await delay(pollMs)
  }
}
