import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { LinkReport } from '@millwright/api/gatekeeper.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { Log } from '../log.ts'
import type { Outgoing } from '../outgoing.ts'
import { type Registration, sameRegistration } from '../registry/registration.ts'
import type { Registry } from '../registry/registry.ts'
import { gatewayVersion } from '../version.ts'
import { type Inspection, inspect, probe, unasked } from './inspection.ts'
import { LinkEvents } from './link-events.ts'
import { fittingReport, reportOf } from './report.ts'

type Options = {
  registry: Registry
  outgoing: Outgoing
  log: Log
  /** How often links are looked after and the cloud is told, also when nothing changed. */
  everyMs?: number
}

type Known = {
  registration: Registration
  /** Until it has been asked, what was known of its former registration. */
  inspection: Inspection
  isGone: boolean
  isAsked: boolean
  hasAnswered: boolean
  firstInspection: PromiseWithResolvers<void>
}

/**
 * A link that registered is inspected again, with growing pauses, until two inspections agree: many links register before
 * they serve all their interfaces.
 */
const settling = { firstMs: 500, longestMs: 8_000, mostMs: 60_000 } as const

/** Links that are asked at the same time. */
const asking = 16

/** Changes that come together are told together: the more links there are, the longer the report, the longer the wait. */
const gatherMs = { least: 200, perLink: 2 } as const

/** Some links say a lot: what they say is gathered for longer. */
const eventsGatherMs = 2_000

/**
 * Registrations that only refresh the former one are gathered for longer, because each report names all links. The cloud
 * creates relations of the link again that a user deleted.
 */
const refreshGatherMs = { least: 2_000, perLink: 100 } as const

/** Knows how each registered link is, and tells the cloud. */
export class LinkMonitor {
  readonly #options: Required<Options>
  readonly #known = new Map<string, Known>()
  readonly #calls = new Semaphore({ capacity: asking })
  readonly #events: LinkEvents
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()
  #isNews = true
  #wake: () => void = () => undefined
  #soon: NodeJS.Timeout | undefined
  #refreshReport: NodeJS.Timeout | undefined

  constructor(options: Options) {
    this.#options = { everyMs: 60_000, ...options }
    this.#events = new LinkEvents({
      log: options.log,
      signal: this.#stopping.signal,
      onNews: () => {
        this.#soon ??= setTimeout(() => this.#announce(), eventsGatherMs).unref()
      },
    })
  }

  start(): void {
    const { registry } = this.#options
    registry.onChange((change) => {
      if (change.kind === 'gone') this.#lose(change.registration)
      else this.#meet(change.registration)
    })
    for (const registration of registry.list()) this.#meet(registration)
    this.#running = Promise.all([this.#lookAfter(), this.#tellCloud()])
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#soon)
    clearTimeout(this.#refreshReport)
    this.#wake()
    await this.#running
  }

  /** How the links are, as far as it is known. */
  reports(): LinkReport[] {
    return [...this.#known.values()].map(({ registration, inspection, isGone }) => {
      const validity = this.#options.registry.validityOf(registration.appInstanceId)
      return {
        ...reportOf(registration, inspection),
        ...(isGone ? { state: 'gone' as const } : {}),
        ...(validity === undefined ? {} : { registration: validity }),
        ...this.#events.reportFields(registration.appInstanceId),
      }
    })
  }

  reportOf(appInstanceId: string): LinkReport | undefined {
    const known = this.#known.get(appInstanceId)
    return known === undefined ? undefined : reportOf(known.registration, known.inspection)
  }

  /** Waits for the first inspection of a link since the start of the gateway, for a limited time. */
  async inspected(
    appInstanceId: string,
    { withinMs, signal }: { withinMs: number; signal: AbortSignal },
  ): Promise<void> {
    const known = this.#known.get(appInstanceId)
    if (known === undefined || known.inspection !== unasked) return
    const over = new AbortController()
    await Promise.race([known.firstInspection.promise, pause(withinMs, AbortSignal.any([signal, over.signal]))])
    over.abort()
  }

  /** What links said of their own accord, the latest last. */
  get recentEvents() {
    return this.#events.recent
  }

  /** A link that is new, has changed or could not be reached is asked everything; a refresh of one that works is not. */
  #meet(registration: Registration): void {
    const before = this.#known.get(registration.appInstanceId)
    if (before !== undefined && !before.isGone && sameRegistration(before.registration, registration)) {
      if (before.inspection.state !== 'running' && !before.isAsked) void this.#ask(before)
      const { least, perLink } = refreshGatherMs
      this.#refreshReport ??= setTimeout(() => this.#announce(), least + perLink * this.#known.size).unref()
      return
    }
    const inspection = before?.inspection ?? unasked
    const known: Known = {
      registration,
      inspection,
      isGone: false,
      isAsked: false,
      hasAnswered: false,
      firstInspection: Promise.withResolvers(),
    }
    this.#known.set(registration.appInstanceId, known)
    void this.#ask(known)
  }

  #lose(registration: Registration): void {
    const known = this.#known.get(registration.appInstanceId)
    if (known !== undefined) known.isGone = true
    this.#events.forget(registration.appInstanceId)
    this.#announce()
  }

  async #ask(known: Known): Promise<void> {
    const { registration } = known
    const { signal } = this.#stopping
    const { firstMs, longestMs, mostMs } = settling
    const backOff = new BackOff({ firstMs, longestMs })
    const beganAtMs = performance.now()
    let before = ''
    known.isAsked = true
    for (;;) {
      const inspection = await this.#calls
        .run(registration.appInstanceId, () => inspect(registration, signal))
        .catch((error: unknown): Inspection => ({ ...unasked, problem: String(error).slice(0, 1_000) }))
      this.#learn(known, inspection)
      const printed = JSON.stringify(inspection)
      const isSettled = inspection.state === 'running' && printed === before
      before = printed
      if (isSettled || performance.now() - beganAtMs > mostMs) break
      await pause(backOff.nextMs(), signal)
      if (signal.aborted || known.isGone || this.#known.get(registration.appInstanceId) !== known) break
    }
    known.isAsked = false
  }

  #learn(known: Known, inspection: Inspection): void {
    const { registration } = known
    // Meanwhile it may have registered anew: then what was learned is of yesterday.
    if (this.#known.get(registration.appInstanceId) !== known || this.#stopping.signal.aborted) return
    const { log } = this.#options
    const { inspection: before, hasAnswered } = known
    known.inspection = inspection
    known.hasAnswered = true
    known.firstInspection.resolve()
    // One that says the same as before may say it elsewhere.
    if (hasAnswered && JSON.stringify(before) === JSON.stringify(inspection)) return
    const link = registration.appInstanceId
    if (inspection.state === 'running' && before.state !== 'running') log.info({ link }, 'a link answers')
    if (inspection.state !== 'running' && before.problem !== inspection.problem) {
      log.warn({ link, problem: inspection.problem }, 'a link does not answer')
    }
    if (inspection.state === 'running') this.#events.follow(registration)
    this.#announce()
  }

  #announce(): void {
    clearTimeout(this.#soon)
    clearTimeout(this.#refreshReport)
    this.#soon = undefined
    this.#refreshReport = undefined
    this.#isNews = true
    this.#wake()
  }

  async #lookAfter(): Promise<void> {
    const { registry, everyMs } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await pause(everyMs, signal)
      registry.purge()
      const present = [...this.#known.values()].filter(({ isGone }) => !isGone)
      await Promise.all(present.map((known) => this.#look(known)))
    }
  }

  async #look(known: Known): Promise<void> {
    if (this.#stopping.signal.aborted) return
    if (known.isAsked) return
    if (known.inspection.state !== 'running') return void this.#ask(known)
    const seen = await this.#calls.run(known.registration.appInstanceId, () =>
      probe(known.registration, this.#stopping.signal),
    )
    const { problem: _, ...inspection } = known.inspection
    this.#learn(known, { ...inspection, ...seen })
  }

  /** The whole list, when it changed and every so often: the cloud then has it right whatever was lost on the way. */
  async #tellCloud(): Promise<void> {
    const { outgoing, everyMs, log } = this.#options
    const { signal } = this.#stopping
    const backOff = new BackOff()
    while (!signal.aborted) {
      if (!this.#isNews) await this.#newsWithin(everyMs)
      await pause(gatherMs.least + gatherMs.perLink * this.#known.size, signal)
      if (signal.aborted) return
      this.#options.registry.purge()
      this.#isNews = false
      const links = this.reports()
      try {
        const data = { gatewayVersion, links: fittingReport(links) }
        await outgoing.gatekeeper.reportLinks({ body: { data } })
        backOff.reset()
        this.#dropGone(links)
      } catch (error) {
        log.debug({ error }, 'the cloud could not be told about the links')
        this.#isNews = true
        await pause(backOff.nextMs(), signal)
      }
    }
  }

  #newsWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** The cloud knows that they are gone: from now on they are not named any more, which says the same. */
  #dropGone(told: readonly LinkReport[]): void {
    for (const { appInstanceId, state } of told) {
      if (state !== 'gone' || this.#known.get(appInstanceId)?.isGone !== true) continue
      this.#known.delete(appInstanceId)
      this.#events.drop(appInstanceId)
    }
  }
}
