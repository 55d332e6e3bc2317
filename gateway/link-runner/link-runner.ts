import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { gatekeeperLimits, type ManagedLink } from '@millwright/api/gatekeeper.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { Log } from '../log.ts'
import { isProcessAlive } from '../process-state.ts'
import { endpointOf } from '../registry/registration.ts'
import type { Registry } from '../registry/registry.ts'
import type { GatewaySettings } from '../settings.ts'
import { SetupError } from '../setup-error.ts'
import { type BuiltInLink, environmentOf, LinkProcess, type LinkTiming, usualTiming } from './link-process.ts'
import { type LinkSwitches, readSwitches, watchSwitches, writeSwitches } from './link-switches.ts'

type Options = {
  settings: Pick<GatewaySettings, 'home' | 'links' | 'linkVendors' | 'registryHost' | 'logLevel' | 'tracesUrl'>
  builtInLinks: readonly BuiltInLink[]
  registry: Registry
  registryPort: number
  log: Log
  environment?: NodeJS.ProcessEnv
  timing?: LinkTiming
  /** Is called when the state of a link has changed. */
  onChange?: () => void
  /** Is called before the process of a link that was disabled is stopped. */
  onDisable?: (link: BuiltInLink) => void
}

/** Thrown for a link that the gateway does not have. */
export class UnknownLinkError extends Error {}

/**
 * `LinkRunner` runs the enabled built-in links as child processes of the gateway. The setting selects the links of a new
 * gateway; `links.json` stores later changes. The state of the links is also in the file `links/state.json`, for the
 * command line.
 */
export class LinkRunner {
  readonly #options: Options
  readonly #processes: readonly LinkProcess[]
  #isStarted = false
  #isApplied = false
  #isStopped = false
  #unwatch: () => void = () => undefined
  /** The work on files, one after the other. */
  #work: Promise<unknown> = Promise.resolve()
  #isWriteDue = false

  constructor(options: Options) {
    this.#options = options
    const { settings, builtInLinks, registry, registryPort, log, timing = usualTiming } = options
    const unknown = settings.links.find((name) => name !== 'all' && !builtInLinks.some((link) => link.name === name))
    if (unknown !== undefined) throw new SetupError(`MILLWRIGHT_GATEWAY_LINKS: ${unknownLink(unknown, builtInLinks)}`)
    const starts = new Semaphore({ capacity: 1 })
    const environment = {
      ...environmentOf(options.environment ?? process.env),
      // The URL can contain a key of the collector, and arguments are visible to all users of the machine.
      ...(settings.tracesUrl === undefined ? {} : { MILLWRIGHT_LINK_TRACES_URL: settings.tracesUrl }),
    }
    this.#processes = builtInLinks.map(
      (link) =>
        new LinkProcess({
          link,
          args: argumentsOf(link, settings, registryPort),
          environment,
          logFile: logFileOf(settings.home, link.name),
          log,
          starts,
          timing,
          onEnd: () => void registry.unregister(link.appInstanceId),
          onChange: () => this.#onChange(),
        }),
    )
    registry.onChange(({ kind, registration }) => {
      if (kind === 'registered') this.#withId(registration.appInstanceId)?.onRegistered()
    })
  }

  /** Starts the enabled links and follows changes of `links.json`. */
  async start(): Promise<void> {
    if (this.#processes.length === 0 || this.#isStarted || this.#isStopped) return
    this.#isStarted = true
    this.#unwatch = watchSwitches(this.#options.settings.home, () => void this.#serially(() => this.#apply()))
    await this.#serially(() => this.#apply())
  }

  /** Stops all links. Resolves when their processes have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unwatch()
    await Promise.all(this.#processes.map((one) => this.#disable(one)))
    await this.#serially(() => rm(stateFile(this.#options.settings.home), { force: true }))
  }

  /** Enables or disables a link, and stores this. Throws an `UnknownLinkError` for a link that does not exist. */
  async switch(name: string, enabled: boolean): Promise<void> {
    const { settings, builtInLinks } = this.#options
    if (!builtInLinks.some((link) => link.name === name)) throw new UnknownLinkError(unknownLink(name, builtInLinks))
    await this.#serially(async () => {
      await writeSwitches(settings.home, { [name]: enabled })
      await this.#apply()
    })
  }

  /**
   * Returns whether a link is enabled and has not registered yet. Until the switches are read for the first time, every
   * built-in link counts. A registration of an earlier process does not count, because its address is out of date.
   */
  isStarting(appInstanceId: string): boolean {
    const one = this.#withId(appInstanceId)
    if (one === undefined || this.#isStopped) return false
    return !this.#isApplied || (one.isEnabled && one.status().state !== 'running')
  }

  /** Returns the state of all built-in links, with their latest log lines. */
  report(): ManagedLink[] {
    return this.#processes.map((one) => ({
      ...this.#statusOf(one),
      log: one.latestLines(gatekeeperLimits.logLinesPerLink),
    }))
  }

  /** Returns the state of all built-in links, without log lines. */
  status(): ManagedLink[] {
    return this.#processes.map((one) => this.#statusOf(one))
  }

  #statusOf(one: LinkProcess): ManagedLink {
    const status = one.status()
    const registration = status.state === 'running' ? this.#options.registry.find(status.appInstanceId) : undefined
    return { ...status, ...(registration === undefined ? {} : { endpoint: endpointOf(registration) }) }
  }

  /** Stops a link. Then a link with its id can be started by hand. */
  async #disable(one: LinkProcess): Promise<void> {
    await one.disable()
    if (!one.isEnabled) this.#options.registry.release(one.link.appInstanceId)
  }

  #withId(appInstanceId: string): LinkProcess | undefined {
    return this.#processes.find(({ link }) => link.appInstanceId === appInstanceId)
  }

  /** Starts and stops processes as the switches require. */
  async #apply(): Promise<void> {
    const { settings, log, registry } = this.#options
    const switches = await readSwitches(settings.home).catch((error: unknown) => {
      log.error({ error }, 'links.json cannot be read; the links stay as they are')
      return undefined
    })
    if (switches === undefined || this.#isStopped || !this.#isStarted) return
    for (const one of this.#processes) {
      const { name, appInstanceId } = one.link
      const enabled = isEnabled(name, switches, settings.links)
      if (enabled === one.isEnabled) continue
      log.info({ link: name }, enabled ? 'link enabled' : 'link disabled')
      if (enabled) {
        // An entry of an earlier process must not be used before the new process has registered.
        registry.unregister(appInstanceId)
        registry.reserve(appInstanceId, one.token)
        one.enable()
      } else {
        this.#options.onDisable?.(one.link)
        void this.#disable(one)
      }
    }
    this.#isApplied = true
    this.#onChange()
  }

  #onChange(): void {
    this.#options.onChange?.()
    if (this.#isWriteDue || this.#isStopped) return
    this.#isWriteDue = true
    const { settings, log } = this.#options
    this.#serially(() => {
      this.#isWriteDue = false
      return writeState(settings.home, { processId: process.pid, links: this.status() })
    }).catch((error: unknown) => log.warn({ error }, 'the state of the links could not be written'))
  }

  #serially<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#work.then(work)
    this.#work = result.catch(() => undefined)
    return result
  }
}

/** Returns whether a link is enabled: by a switch, or else by the setting. */
export function isEnabled(name: string, switches: LinkSwitches, setting: readonly string[]): boolean {
  return switches.get(name) ?? (setting.includes('all') || setting.includes(name))
}

export function unknownLink(name: string, links: readonly { name: string }[]): string {
  return `"${name}" is not a built-in link. Built-in links: ${links.map((link) => link.name).join(', ')}.`
}

export function logFileOf(home: string, name: string): string {
  return join(home, 'links', `${name}.log`)
}

function argumentsOf(
  { name, appInstanceId }: BuiltInLink,
  settings: Options['settings'],
  registryPort: number,
): string[] {
  // The link SDK accepts only vendor prefixes without dots. The first prefix is the one of the registration.
  const vendors = settings.linkVendors.filter((vendor) => !vendor.includes('.'))
  const level = settings.logLevel === 'debug' ? 'debug' : 'info'
  return [
    ...['--registry', `${reachableHost(settings.registryHost)}:${registryPort}`],
    ...['--host', '127.0.0.1', '--port', '0', '--instance', appInstanceId, '--log-level', level],
    ...['--home', join(settings.home, 'links', name)],
    ...(vendors.length === 0 ? [] : ['--vendors', vendors.join(',')]),
  ]
}

/** Returns the host at which a process on this machine reaches the registry. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return isIPv6(host) ? `[${host}]` : host
}

/** `RunnerState` is the content of `links/state.json`. */
type RunnerState = { processId: number; links: ManagedLink[] }

function stateFile(home: string): string {
  return join(home, 'links', 'state.json')
}

async function writeState(home: string, state: RunnerState): Promise<void> {
  const file = stateFile(home)
  await mkdir(join(home, 'links'), { recursive: true, mode: 0o700 })
  await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600 })
  await rename(`${file}.new`, file)
}

/**
 * Returns the state of the links of the gateway that runs with this home. Returns undefined when no gateway runs. Throws a
 * `SetupError` if another user runs the gateway.
 */
export async function runningState(home: string): Promise<RunnerState | undefined> {
  const file = stateFile(home)
  try {
    const state = JSON.parse(await readFile(file, 'utf8')) as RunnerState
    return isProcessAlive(state.processId) ? state : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return undefined
    throw new SetupError(`${file} cannot be read: run the command as the user of the gateway.`)
  }
}
