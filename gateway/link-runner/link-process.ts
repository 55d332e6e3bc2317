import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { gatekeeperLimits, type ManagedLink } from '@millwright/api/gatekeeper.ts'
import type { Semaphore } from '@millwright/api/semaphore.ts'
import type { Log } from '../log.ts'
import { entryIn, LinkLog, readableLine } from './link-log.ts'

/** `BuiltInLink` is a link that the gateway can run. */
export type BuiltInLink = {
  name: string
  appInstanceId: string
  file: string
  /** Returns the functions that the link sends, as the table `sends` of its manifest contains them. */
  functions?: () => Promise<readonly { protocol: string; operation: string }[] | undefined>
}

type Options = {
  link: BuiltInLink
  /** The arguments of the program. */
  args: readonly string[]
  environment: NodeJS.ProcessEnv
  logFile: string
  log: Log
  /** Links start one after the other, so that the start of a gateway does not use all processors. */
  starts: Semaphore
  timing: LinkTiming
  /** Is called when the process has ended, so that its registration can be removed. */
  onEnd: () => void
  onChange: () => void
}

export type LinkTiming = {
  /** The pauses before restarts. */
  restart: { firstMs: number; longestMs: number }
  /** A link that ran for this time starts with the shortest pause again. */
  stableMs: number
  /** The time for which other links wait until this link has registered. */
  startMs: number
  /** The time after SIGTERM until SIGKILL. A link needs a part of it to end its calls and to unregister. */
  stopMs: number
}

/**
 * A small young generation saves about a quarter of the memory of an idle link. The limit of the heap protects the machine
 * of the gateway.
 */
export const linkNodeOptions = ['--max-semi-space-size=2', '--max-old-space-size=512']

/** The time in which the last output of an ended process is read. */
const lastOutputMs = 500

export const usualTiming: LinkTiming = {
  restart: { firstMs: 1_000, longestMs: 60_000 },
  stableMs: 60_000,
  startMs: 15_000,
  stopMs: 10_000,
}

/**
 * The environment variables that a link gets. All other variables of the gateway stay hidden, because they can contain
 * secrets.
 */
const passedVariables = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'TEMP', 'SystemRoot', 'NODE_COMPILE_CACHE']

export function environmentOf(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const passed = passedVariables.flatMap((name) => {
    const value = environment[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(passed)
}

/**
 * `LinkProcess` runs one link as a child process while the link is enabled. States: `stopped` (not enabled), `starting`
 * (the process does not answer yet), `running` (the link has registered) and `failed` (the process has ended, and starts
 * again after a pause). The child process has a channel to the gateway. It ends when the channel closes, so it does not
 * survive a gateway that is killed.
 */
export class LinkProcess {
  readonly link: BuiltInLink
  /** The token with which the process registers: see `Registry.reserve`. It is not an argument, because those are public. */
  readonly token: string = randomUUID()
  readonly #options: Options
  readonly #output: LinkLog
  readonly #notices = new Set<string>()
  #state: ManagedLink['state'] = 'stopped'
  #restarts = 0
  #problem: string | undefined
  #registered: () => void = () => undefined
  #enabled: AbortController | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: Options) {
    this.#options = options
    this.link = options.link
    this.#output = new LinkLog({ file: options.logFile, onLine: (line) => this.#readNotice(line) })
  }

  get isEnabled(): boolean {
    return this.#enabled !== undefined
  }

  /** Returns the state for users. The endpoint is known to the registry. */
  status(): Omit<ManagedLink, 'endpoint'> {
    return {
      name: this.link.name,
      appInstanceId: this.link.appInstanceId,
      enabled: this.isEnabled,
      state: this.#state,
      restarts: this.#restarts,
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
      ...(this.#notices.size === 0 ? {} : { notices: [...this.#notices] }),
    }
  }

  latestLines(count: number): string[] {
    return this.#output.latest(count)
  }

  enable(): void {
    if (this.#enabled !== undefined) return
    const enabled = new AbortController()
    this.#enabled = enabled
    this.#restarts = 0
    this.#problem = undefined
    // A process that is still stopping ends first.
    this.#running = this.#running.then(() => this.#keepRunning(enabled.signal))
  }

  /** Stops the process. Resolves when it has ended. */
  async disable(): Promise<void> {
    this.#enabled?.abort()
    this.#enabled = undefined
    this.#problem = undefined
    await this.#running
  }

  /** Is called each time the link has registered at the gateway. */
  onRegistered(): void {
    if (this.#state === 'starting') this.#registered()
  }

  async #keepRunning(signal: AbortSignal): Promise<void> {
    const { starts, timing, log } = this.#options
    const backOff = new BackOff(timing.restart)
    while (!signal.aborted) {
      this.#setState('starting')
      const leave = await starts.enter(this.link.name)
      if (signal.aborted) {
        leave()
        break
      }
      const startedAtMs = performance.now()
      const reason = await this.#runOnce(signal, leave)
      this.#options.onEnd()
      if (signal.aborted) break
      if (performance.now() - startedAtMs >= timing.stableMs) backOff.reset()
      this.#restarts += 1
      this.#problem = reason.slice(0, gatekeeperLimits.linkProblem)
      log.warn({ link: this.link.name, restarts: this.#restarts, reason: this.#problem }, 'link ended unexpectedly')
      this.#setState('failed')
      await pause(backOff.nextMs(), signal)
    }
    this.#notices.clear()
    this.#setState('stopped')
  }

  /** Runs the process until it ends, and returns the reason. Calls `leave` when the next link may start. */
  async #runOnce(signal: AbortSignal, leave: () => void): Promise<string> {
    const { timing } = this.#options
    this.#notices.clear()
    const child = this.#spawn()
    if (child instanceof Error) {
      leave()
      return couldNotStart(child)
    }
    child.send({ linkToken: this.token }, () => undefined)
    // A failed signal is reported as an error event. The end of the process follows in any case.
    child.on('error', () => undefined)
    const output = Promise.all([child.stdout, child.stderr].map((stream) => this.#output.follow(stream ?? []))).catch(
      () => undefined,
    )
    let isStarting = true
    const leaveOnce = () => {
      clearTimeout(turn)
      if (isStarting) leave()
      isStarting = false
    }
    const turn = setTimeout(leaveOnce, timing.startMs).unref()
    this.#registered = () => {
      this.#setState('running')
      leaveOnce()
    }
    const stop = () => void stopProcess(child, timing.stopMs)
    signal.addEventListener('abort', stop, { once: true })
    try {
      const ending = await endOf(child)
      await Promise.race([output, pause(lastOutputMs)])
      return `${ending}${this.#lastWords()}`
    } finally {
      signal.removeEventListener('abort', stop)
      this.#registered = () => undefined
      leaveOnce()
    }
  }

  /** Starts the process. Most errors are reported as an event, and the others, such as too little memory, are returned. */
  #spawn(): ChildProcess | Error {
    const { args, environment } = this.#options
    try {
      return spawn(process.execPath, [...linkNodeOptions, this.link.file, ...args], {
        env: environment,
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        windowsHide: true,
      })
    } catch (error) {
      return error as Error
    }
  }

  /** Returns the last line of the link, which often contains the reason of its end. */
  #lastWords(): string {
    const [last] = this.#output.latest(1)
    return last === undefined ? '' : `: ${last}`
  }

  #readNotice(line: string): void {
    const entry = entryIn(line)
    if (entry?.notice !== true || this.#notices.size >= gatekeeperLimits.noticesPerLink) return
    this.#notices.add(readableLine(entry.message).slice(0, gatekeeperLimits.linkProblem))
    this.#options.onChange()
  }

  #setState(state: ManagedLink['state']): void {
    if (this.#state === state) return
    this.#state = state
    this.#options.onChange()
  }
}

/** Resolves with the reason when the process has ended or could not be started. */
async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return signal === null ? `The link ended with exit code ${code}` : `The link was ended by ${signal}`
  } catch (error) {
    return couldNotStart(error as Error)
  }
}

function couldNotStart({ message }: Error): string {
  return `The link could not be started (${message})`
}

async function stopProcess(child: ChildProcess, withinMs: number): Promise<void> {
  const kill = setTimeout(() => child.kill('SIGKILL'), withinMs)
  child.kill('SIGTERM')
  await once(child, 'exit').catch(() => undefined)
  clearTimeout(kill)
}
