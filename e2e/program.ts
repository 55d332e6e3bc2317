import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Nothing of the product lies there: it must not matter where it is started from. */
export const startedIn = '/'

export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string; ms: number }

/** A program of the product as a person starts it. */
export type Program = {
  child: ChildProcess
  stdout(): string
  stderr(): string
  ended: Promise<Ended>
} & AsyncDisposable

export type Surroundings = {
  home: string
  environment?: Record<string, string>
  /** What stands in its standard input; nothing unless given. */
  input?: string
  /** Which Node; the one that runs the tests unless said otherwise. */
  node?: string
  /** Whose process it is; root only. */
  owner?: { uid: number; gid: number }
  /** Where the product lies; this checkout unless said otherwise. */
  checkout?: string
}

/** `node main.mjs` is what `npm start` runs. */
export function npmStart(surroundings: Surroundings, given: readonly string[] = []): Program {
  return start('main.mjs', given, surroundings)
}

export function millwright(given: readonly string[], surroundings: Surroundings): Program {
  return start('cli/millwright.mjs', given, surroundings)
}

function start(file: string, given: readonly string[], surroundings: Surroundings): Program {
  const { home, environment = {}, node = process.execPath, owner, checkout = root, input } = surroundings
  const startedAt = performance.now()
  const child = spawn(node, [join(checkout, file), ...given], {
    ...owner,
    cwd: startedIn,
    env: {
      ...ownEnvironment(),
      MILLWRIGHT_HOME: home,
      MILLWRIGHT_PORT: '0',
      MILLWRIGHT_LOCAL_GATEWAY: 'off',
      ...environment,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // It may have ended without a look at it.
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
      await ended
    },
  }
}

/** Settings of the shell that runs the tests are not those of the programs under test. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(MILLWRIGHT_|DATABASE_URL$|OTEL_|PG|NODE_)/.test(name))
  return Object.fromEntries(kept)
}

/** The Node that a person has on this machine, which may be older than the one the product runs on. */
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

/** Processes of the database server of a home, also those that nobody waits for any more. */
export function postgresOf(home: string): number[] {
  const data = join(home, 'postgres', 'data')
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && (commandOf(pid).includes(data) || placeOf(pid) === data))
}

/** What a process has used of the processor so far. */
export function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  const hundredths = Number(fields[11]) + Number(fields[12])
  return hundredths * 10
}

/** What a Node that does nothing uses of the processor here and now: the measure for what is said to be little. */
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

function placeOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}
