import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { LinkReport, ManagedLink } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import type { Log } from '../log.ts'
import { type Registration, sameRegistration } from '../registry/registration.ts'
import type { Registry } from '../registry/registry.ts'
import { gatewayVersion } from '../version.ts'
import { hostFacts } from './host-facts.ts'
import { type Inspection, inspect, notInspected, probe } from './inspection.ts'
import { LinkEvents } from './link-events.ts'
import { fittingReports, reportOf } from './report.ts'

type Options = {
  registry: Registry
  cloud: CloudConnection
  log: Log
  /** The interval in which links are checked and reported to the cloud, even if nothing has changed. */
  everyMs?: number
  /** Returns the links that the gateway can run as child processes. */
  managedLinks?: () => ManagedLink[]
  /** Returns whether the gateway runs this link, and the link has not registered yet. */
  isStarting?: (appInstanceId: string) => boolean
}

type MonitoredLink = {
  registration: Registration
  /**
   * The latest inspection. Until the first inspection after a new registration, it is the inspection of the previous
   * registration.
   */
  inspection: Inspection
  isGone: boolean
  isInspecting: boolean
  hasAnswered: boolean
  firstInspection: PromiseWithResolvers<void>
}

/**
 * The pauses between the inspections after a registration. The link is inspected until two successive results are
 * equal, because many links register before they serve all their interfaces.
 */
const reinspection = { firstMs: 500, longestMs: 8_000, mostMs: 60_000 } as const

/** The time in which a link that the gateway runs starts and registers. */
const linkStartMs = 15_000
const registrationPollMs = 100

/** The number of concurrent inspections. */
const concurrentInspections = 16

/**
 * The time in which changes are collected for one report. It grows with the number of links, because each report
 * contains all links.
 */
const gatherMs = { least: 200, perLink: 2 } as const

/**
 * The time in which events are collected for one report. It is longer than for changes of links, because some links
 * send many events.
 */
const eventsGatherMs = 2_000

/** The time for which a platform that refused the built-in links gets reports without them. */
const olderPlatformMs = 60 * 60_000

/**
 * The time in which unchanged registrations are collected for one report. It is longer than for changes, because each
 * report contains all links. The report is needed even without a change: it makes the cloud restore relations of the
 * link that a user deleted.
 */
const refreshGatherMs = { least: 2_000, perLink: 100 } as const

/** `LinkMonitor` inspects the registered links, checks them periodically, and reports them to the cloud. */
export class LinkMonitor {
  readonly #options: Required<Options>
  readonly #links = new Map<string, MonitoredLink>()
  readonly #calls = new Semaphore({ capacity: concurrentInspections })
  readonly #events: LinkEvents
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()
  /** Until this time, reports do not contain the built-in links. */
  #withoutBuiltInUntilMs = 0
  #isNews = true
  #wake: () => void = () => undefined
  #soon: NodeJS.Timeout | undefined
  #refreshReport: NodeJS.Timeout | undefined

  constructor(options: Options) {
    this.#options = { everyMs: 60_000, managedLinks: () => [], isStarting: () => false, ...options }
    this.#events = new LinkEvents({
      log: options.log,
      signal: this.#stopping.signal,
      onNews: () => {
        this.#soon ??= setTimeout(() => this.#scheduleReport(), eventsGatherMs).unref()
      },
    })
  }

  start(): void {
    const { registry } = this.#options
    registry.onChange((change) => {
      if (change.kind === 'gone') this.#onRemoved(change.registration)
      else this.#onRegistered(change.registration)
    })
    for (const registration of registry.list()) this.#onRegistered(registration)
    this.#running = Promise.all([this.#checkAll(), this.#reportToCloud()])
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#soon)
    clearTimeout(this.#refreshReport)
    this.#wake()
    await this.#running
  }

  /** Returns the current reports of all links. */
  reports(): LinkReport[] {
    return [...this.#links.values()].map(({ registration, inspection, isGone }) => {
      const validity = this.#options.registry.validityOf(registration.appInstanceId)
      return {
        ...reportOf(registration, inspection),
        ...(isGone ? { state: 'gone' as const } : {}),
        ...(validity === undefined ? {} : { registration: validity }),
        ...this.#events.reportFields(registration.appInstanceId),
      }
    })
  }

  /** Reports to the cloud soon, because the state of a managed link has changed. */
  reportSoon(): void {
    this.#scheduleReport()
  }

  reportOf(appInstanceId: string): LinkReport | undefined {
    const link = this.#links.get(appInstanceId)
    return link === undefined ? undefined : reportOf(link.registration, link.inspection)
  }

  /**
   * Waits until a link has been inspected for the first time since the start of the gateway, but at most `withinMs`. If the
   * gateway runs the link, first waits until the link has started and registered, but at most `linkStartMs`.
   */
  async inspected(
    appInstanceId: string,
    { withinMs, signal }: { withinMs: number; signal: AbortSignal },
  ): Promise<void> {
    const { isStarting } = this.#options
    const startedByMs = performance.now() + linkStartMs
    while (isStarting(appInstanceId) && performance.now() < startedByMs && !signal.aborted)
      await pause(registrationPollMs, signal)
    const link = this.#links.get(appInstanceId)
    if (link === undefined || link.inspection !== notInspected) return
    const over = new AbortController()
    await Promise.race([link.firstInspection.promise, pause(withinMs, AbortSignal.any([signal, over.signal]))])
    over.abort()
  }

  /** Returns the latest alarms and driver events of links, oldest first. */
  get recentEvents() {
    return this.#events.recent
  }

  /**
   * Inspects a link that is new or changed, or that was unreachable. A running link that repeats its registration needs
   * no inspection.
   */
  #onRegistered(registration: Registration): void {
    const before = this.#links.get(registration.appInstanceId)
    if (before !== undefined && !before.isGone && sameRegistration(before.registration, registration)) {
      if (before.inspection.state !== 'running' && !before.isInspecting) void this.#inspect(before)
      const { least, perLink } = refreshGatherMs
      this.#refreshReport ??= setTimeout(() => this.#scheduleReport(), least + perLink * this.#links.size).unref()
      return
    }
    const inspection = before?.inspection ?? notInspected
    const link: MonitoredLink = {
      registration,
      inspection,
      isGone: false,
      isInspecting: false,
      hasAnswered: false,
      firstInspection: Promise.withResolvers(),
    }
    this.#links.set(registration.appInstanceId, link)
    void this.#inspect(link)
  }

  #onRemoved(registration: Registration): void {
    const link = this.#links.get(registration.appInstanceId)
    if (link !== undefined) link.isGone = true
    this.#events.forget(registration.appInstanceId)
    this.#scheduleReport()
  }

  async #inspect(link: MonitoredLink): Promise<void> {
    const { registration } = link
    const { signal } = this.#stopping
    const { firstMs, longestMs, mostMs } = reinspection
    const backOff = new BackOff({ firstMs, longestMs })
    const beganAtMs = performance.now()
    let before = ''
    link.isInspecting = true
    for (;;) {
      const inspection = await this.#calls
        .run(registration.appInstanceId, () => inspect(registration, signal))
        .catch((error: unknown): Inspection => ({ ...notInspected, problem: String(error).slice(0, 1_000) }))
      this.#setInspection(link, inspection)
      const printed = JSON.stringify(inspection)
      const isSettled = inspection.state === 'running' && printed === before
      before = printed
      if (isSettled || performance.now() - beganAtMs > mostMs) break
      await pause(backOff.nextMs(), signal)
      if (signal.aborted || link.isGone || this.#links.get(registration.appInstanceId) !== link) break
    }
    link.isInspecting = false
  }

  #setInspection(link: MonitoredLink, inspection: Inspection): void {
    const { registration } = link
    // The result is discarded if the link has registered again in the meantime.
    if (this.#links.get(registration.appInstanceId) !== link || this.#stopping.signal.aborted) return
    const { log } = this.#options
    const { inspection: before, hasAnswered } = link
    link.inspection = inspection
    link.hasAnswered = true
    link.firstInspection.resolve()
    // An unchanged result is not reported. The first result after a new registration is always reported, because the
    // address of the link may have changed.
    if (hasAnswered && JSON.stringify(before) === JSON.stringify(inspection)) return
    const linkId = registration.appInstanceId
    if (inspection.state === 'running' && before.state !== 'running') log.info({ link: linkId }, 'link is reachable')
    if (inspection.state !== 'running' && before.problem !== inspection.problem) {
      log.warn({ link: linkId, problem: inspection.problem }, 'link is not reachable')
    }
    if (inspection.state === 'running') this.#events.follow(registration)
    this.#scheduleReport()
  }

  #scheduleReport(): void {
    clearTimeout(this.#soon)
    clearTimeout(this.#refreshReport)
    this.#soon = undefined
    this.#refreshReport = undefined
    this.#isNews = true
    this.#wake()
  }

  async #checkAll(): Promise<void> {
    const { registry, everyMs } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await pause(everyMs, signal)
      registry.purge()
      const present = [...this.#links.values()].filter(({ isGone }) => !isGone)
      await Promise.all(present.map((link) => this.#check(link)))
    }
  }

  async #check(link: MonitoredLink): Promise<void> {
    if (this.#stopping.signal.aborted) return
    if (link.isInspecting) return
    if (link.inspection.state !== 'running') return void this.#inspect(link)
    const seen = await this.#calls.run(link.registration.appInstanceId, () =>
      probe(link.registration, this.#stopping.signal),
    )
    const { problem: _, ...inspection } = link.inspection
    this.#setInspection(link, { ...inspection, ...seen })
  }

  /**
   * Reports the complete list of links after each change and periodically, so that the next report makes up for a lost
   * report.
   */
  async #reportToCloud(): Promise<void> {
    const { everyMs, log } = this.#options
    const { signal } = this.#stopping
    const backOff = new BackOff()
    while (!signal.aborted) {
      if (!this.#isNews) await this.#changeWithin(everyMs)
      await pause(gatherMs.least + gatherMs.perLink * this.#links.size, signal)
      if (signal.aborted) return
      this.#options.registry.purge()
      this.#isNews = false
      const links = this.reports()
      try {
        await this.#report(links)
        backOff.reset()
        this.#dropGone(links)
      } catch (error) {
        log.debug({ error }, 'the links could not be reported')
        this.#isNews = true
        await pause(backOff.nextMs(), signal)
      }
    }
  }

  /**
   * Sends a report. An older version of the platform refuses the built-in links or the facts of the host, and with them
   * the complete report, so the report is repeated without them.
   */
  async #report(links: readonly LinkReport[]): Promise<void> {
    const { cloud, log, managedLinks } = this.#options
    const { managedLinks: builtIn, ...report } = fittingReports(links, managedLinks())
    const send = (data: object) =>
      cloud.gatekeeper.reportLinks({ body: { data: { gatewayVersion, ...report, ...data } } })
    if (performance.now() < this.#withoutBuiltInUntilMs) return void (await send({}))
    try {
      await send({ host: hostFacts(), ...(builtIn !== undefined && { managedLinks: builtIn }) })
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'invalid_body') throw error
      await send({})
      this.#withoutBuiltInUntilMs = performance.now() + olderPlatformMs
      log.warn(
        { reason: error.message },
        'the platform does not accept the built-in links of the gateway, because it has an older version: update the platform to see and switch them there',
      )
    }
  }

  #changeWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Removes links that were reported as gone, so that later reports do not contain them. */
  #dropGone(reports: readonly LinkReport[]): void {
    for (const { appInstanceId, state } of reports) {
      if (state !== 'gone' || this.#links.get(appInstanceId)?.isGone !== true) continue
      this.#links.delete(appInstanceId)
      this.#events.drop(appInstanceId)
    }
  }
}
