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
  /** True if the server ended because `stop` was called. */
  expected: boolean
  lastLogLine: string
}

export type Server = { pid: number | undefined; exited: Promise<ServerExit>; stop(): Promise<void>; logFile: string }

const pollMs = 25
/** The time limit for a start. Recovery after a crash can take minutes, because it reads up to `max_wal_size`. */
const startLimitMs = 5 * 60_000
const patienceMs = 10_000
const fastStopMs = 8_000

/**
 * The start script of the server. It runs in a new session as the server's user. The shell replaces itself with the
 * server, so both have the same pid and exit code. A second process ends the server when the pipe closes. The pipe also
 * closes when this process is killed. A line in the pipe means that the server has already ended, so the second process
 * only exits. The second process is detached, because the server does not expect children. The pipe is descriptor 3,
 * because a shell gives background processes no standard input.
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
 * Starts the server in its own session, so that Ctrl-C in the terminal does not reach it. The owner process ends the
 * server. A running server does not keep the owner process alive, and ends together with it.
 */
export function startServer(launch: {
  command: string[]
  account: Account
  environment: NodeJS.ProcessEnv
  log: ServerLog
}): Server {
  const { program, programArguments, options } = as(launch.account, '/bin/sh', [
    '-c',
    watchedServer,
    'sh',
    ...launch.command,
  ])
  const child = spawn(program, programArguments, {
    ...options,
    cwd: '/',
    env: launch.environment,
    detached: true,
    stdio: ['ignore', launch.log.descriptor, launch.log.descriptor, 'pipe'],
  })
  launch.log.close()
  child.unref()
  let expected = false
  const exited = exitOf(child).then((exit) => ({ ...exit, expected, lastLogLine: launch.log.lastMeaningfulLine() }))
  return {
    pid: child.pid,
    exited,
    logFile: launch.log.file,
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
 * Ends the server. SIGINT ends the connections and writes a checkpoint. SIGQUIT leaves recovery to the next start. A
 * process that was stopped with SIGSTOP handles signals only after SIGCONT.
 */
async function end(child: ChildProcess, exited: Promise<ServerExit>): Promise<void> {
  child.ref()
  child.kill('SIGINT')
  child.kill('SIGCONT')
  const lastResort = setTimeout(() => child.kill('SIGQUIT'), fastStopMs)
  await exited
  clearTimeout(lastResort)
}

/**
 * Waits until the server is ready. It reads the state that the server writes into its data folder, because a query over
 * the socket would need a driver.
 */
export async function untilReady(
  server: Server,
  { dataFolder, log }: { dataFolder: string; log: (sentence: string) => void },
): Promise<void> {
  const started = Date.now()
  let reportedAt = started
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
    if (Date.now() - reportedAt > patienceMs) {
      log('PostgreSQL is still starting; after a crash it first recovers the latest writes.')
      reportedAt = Date.now()
    }
    await delay(pollMs)
  }
}
