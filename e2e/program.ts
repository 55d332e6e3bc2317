import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withinLimit } from './time-limit.ts'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** The working folder of started programs. It is not the checkout, because the product must start from any folder. */
export const startedIn = '/'

/** The time in which a program must end after SIGTERM. */
const stopLimitMs = 300_000
/** The time in which a command must end after a test starts to wait for its end. */
const commandLimitMs = 600_000

export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string; ms: number }

/** `Program` is a program of the product that was started in the same way as a user starts it. */
export type Program = {
  child: ChildProcess
  stdout(): string
  stderr(): string
  readonly ended: Promise<Ended>
} & AsyncDisposable

export type ProgramOptions = {
  home: string
  environment?: Record<string, string>
  /** The content of standard input. It is empty by default. */
  input?: string
  /** The Node binary. The default is the binary that runs the tests. */
  node?: string
  /** The user of the process. Only root can set it. */
  owner?: { uid: number; gid: number }
  /** The folder of the product. The default is this checkout. */
  checkout?: string
}

/** Runs `node main.mjs`, as `npm start` does. */
export function npmStart(options: ProgramOptions, args: readonly string[] = []): Program {
  return start('main.mjs', args, options)
}

/** Runs a command. A test that waits for its end waits no longer than `commandLimitMs`. */
export function millwright(args: readonly string[], options: ProgramOptions): Program {
  const program = start('cli/millwright.mjs', args, options)
  const name = ['millwright', ...args.slice(0, 2)].join(' ')
  return {
    ...program,
    get ended() {
      return withinLimit(`the command ${name} ends`, program.ended, commandLimitMs)
    },
  }
}

function start(file: string, args: readonly string[], options: ProgramOptions): Program {
  const { home, environment = {}, node = process.execPath, owner, checkout = root, input } = options
  const startedAt = performance.now()
  const child = spawn(node, [join(checkout, file), ...args], {
    ...owner,
    cwd: startedIn,
    env: { ...environmentOf(home), ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // The error is ignored, because the program may end before it reads standard input.
  child.stdin.on('error', () => {}).end(input ?? '')
  const printed = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed.stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    printed.stderr += text
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, ...printed, ms: performance.now() - startedAt }))
  })
  return {
    child,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      try {
        await withinLimit(`${file} stops after SIGTERM`, ended, stopLimitMs)
      } catch (error) {
        child.kill('SIGKILL')
        throw error
      }
    },
  }
}

/**
 * Returns the environment of a program: the environment of the test process without settings of the product, the
 * database and Node, and the settings of a home.
 */
export function environmentOf(home: string): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(MILLWRIGHT_|DATABASE_URL$|OTEL_|PG|NODE_)/.test(name))
  return {
    ...Object.fromEntries(kept),
    MILLWRIGHT_HOME: home,
    MILLWRIGHT_PORT: '0',
    MILLWRIGHT_LOCAL_GATEWAY: 'off',
    // On a slow machine, the log of slow requests and statements would be unexpected output.
    MILLWRIGHT_SLOW_REQUEST_MS: '0',
    MILLWRIGHT_SLOW_STATEMENT_MS: '0',
  }
}

/** Returns the Node binary of this machine, which may be older than the Node version of the product. */
export function nodeOfMachine(): string | undefined {
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => !folder.includes('node_modules'))
  return folders
    .map((folder) => join(folder, 'node'))
    .find((file) => {
      try {
        return readFileSync(file).length > 0
      } catch {
        return false
      }
    })
}

/** Returns the ids of all processes of the database server in this home, including orphaned processes. */
export function postgresOf(home: string): number[] {
  const data = join(home, 'postgres', 'data')
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && (commandOf(pid).includes(data) || workingDirectoryOf(pid) === data))
}

/** Returns the id of the main process of the database server in this home, or 0 if there is none. */
export function postmasterOf(home: string): number {
  try {
    return Number(readFileSync(join(home, 'postgres', 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
  } catch {
    return 0
  }
}

/** Returns the processor time that a process has used so far, in milliseconds. */
export function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  const hundredths = Number(fields[11]) + Number(fields[12])
  return hundredths * 10
}

/**
 * Returns the processor time that a Node process without a program uses on this machine. Tests use it as the unit for
 * other times.
 */
export function cpuMsOfNode(): number {
  const runs = Array.from({ length: 5 }, () => {
    const { stdout } = spawnSync(process.execPath, ['-p', 'JSON.stringify(process.cpuUsage())'], { encoding: 'utf8' })
    const { user, system } = JSON.parse(stdout)
    return (user + system) / 1_000
  })
  return runs.reduce((sum, ms) => sum + ms, 0) / runs.length
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

function workingDirectoryOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}
