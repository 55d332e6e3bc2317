import { BackOff, pause } from '@millwright/api/back-off.ts'
import { compareVersions } from '@millwright/api/version-order.ts'
import { workflowLimits } from '@millwright/api/workflows.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import type { DeviceAccess } from '../device-info/device-info.ts'
import { JobCredentials } from '../job-credentials.ts'
import type { LeasedJob } from '../jobs/leased-job.ts'
import { linkErrorText } from '../link-client.ts'
import type { LinkMonitor } from '../link-monitor/link-monitor.ts'
import type { Log } from '../log.ts'
import type { Document } from '../mapping/document.ts'
import type { Registry } from '../registry/registry.ts'
import type { ArtefactCache, CachedArtefact } from './artefact-cache.ts'
import { artefactSource } from './artefact-source.ts'
import { requireTrusted } from './artefact-trust.ts'
import { type DeviceReader, hasVersion, installedVersion } from './device-version.ts'
import { LinkUpdates, type UpdateCall, type UpdateProgress } from './link-updates.ts'
import { DeviceCredentials, type DeviceNames, updateDeviceOf } from './update-device.ts'
import { UpdateError, type UpdateErrorCode } from './update-error.ts'
import type { UpdateDefinition } from './update-job.ts'
import {
  type ActivationAnswer,
  nextAction,
  type UpdateAction,
  type UpdateJournal,
  type UpdateOutcome,
} from './update-journal.ts'

/**
 * This file runs one update job. The platform stores the state of the job, and the journal stores what the gateway did. Both
 * decide the next action (`nextAction`), so that a gateway that was killed at any step continues correctly.
 *
 * The activation is called only after the platform accepted the state `ACTIVATING` and after the journal contains the call.
 * If the link does not answer the call, the gateway only reads the device. The job ends as `ACTIVATED` if the device reports the
 * new version, and as `UNKNOWN` otherwise.
 */

export type UpdateParts = DeviceNames & {
  cloud: CloudConnection
  registry: Registry
  monitor: LinkMonitor
  cache: ArtefactCache
  journal: UpdateJournal
  reader: DeviceReader
  trustFile: string
  /** The time of the platform. */
  now: () => Date
  linkSilenceMs: number
  timing: UpdateTiming
  log: Log
}

export type UpdateTiming = {
  /** The pauses between two attempts to prepare a device. */
  retryMs: number
  /** The first pause between two reads of the version. Later ones are longer. */
  verifyMs: number
  /** How long a device that rejected the activation is read, to find out whether it has the new version anyway. */
  rejectedMs: number
  /** How long a device must report a version that is neither the old nor the new one before this version is the result. */
  settledMs: number
  /** The maximum time of one call of a link. */
  longestCallMs: number
}

export const defaultTiming: UpdateTiming = {
  ...{ retryMs: 2_000, verifyMs: 1_000, rejectedMs: 15_000, settledMs: 10_000 },
  longestCallMs: 24 * 60 * 60_000,
}

const limits = {
  /** The number of attempts to prepare a device if the connection to the link is lost. */
  attempts: 4,
  /** How long a call of a busy link is repeated. */
  busyMs: 15 * 60_000,
  /** How long the gateway waits for the first inspection of a link after its start. */
  inspectedMs: 5_000,
  /** The longest pause between two reads of the version. */
  verifyMs: 15_000,
  /** The minimum time in which a device is read after a restart of the gateway. */
  resumedMs: 60_000,
  /** The number of successive reads with this version that are needed before it is the result. */
  equalReads: 3,
} as const

/** The answers of a link that prove that the device did not activate the artefact. */
const rejections: ReadonlySet<UpdateErrorCode> = new Set([
  'another_device',
  'incompatible',
  'link_failed',
  'not_supported',
  'unauthenticated',
])

/** `UpdateEnd` is what the gateway reports at the end of its work on a job. */
export type UpdateEnd = UpdateOutcome | { state: 'PREPARED'; message?: string; result?: Record<string, unknown> }

/** `JobReporter` moves the job at the platform. */
export type JobReporter = {
  /** Moves the job. Retries until the platform responds. Returns the state of the job, or undefined if the work stops. */
  advance: (state: string) => Promise<string | undefined>
  /** Tries once to move the job. */
  tryAdvance: (state: string) => Promise<void>
}

type Options = {
  leased: LeasedJob
  definition: UpdateDefinition
  parts: UpdateParts
  reporter: JobReporter
  /** Aborts when the gateway stops. */
  stopping: AbortSignal
}

export class DeviceUpdate implements Disposable {
  readonly #leased: LeasedJob
  readonly #definition: UpdateDefinition
  readonly #parts: UpdateParts
  readonly #reporter: JobReporter
  readonly #stopping: AbortSignal
  readonly #secrets: JobCredentials
  readonly #credentials: DeviceCredentials
  #artefact: CachedArtefact | undefined
  /** The time at which a busy link refused the activation for the first time. */
  #busySinceMs: number | undefined
  #phase = 'starting'
  #percent = 0

  constructor({ leased, definition, parts, reporter, stopping }: Options) {
    this.#leased = leased
    this.#definition = definition
    this.#parts = parts
    this.#reporter = reporter
    this.#stopping = stopping
    this.#secrets = new JobCredentials({ leased, assetLinkId: definition.assetLinkId, cloud: parts.cloud })
    this.#credentials = new DeviceCredentials(this.#secrets, definition)
  }

  get status() {
    const { assetId, assetLinkId, artefact } = this.#definition
    const about = { job: this.#leased.job.id, asset: assetId, link: assetLinkId }
    return { ...about, artefact: `${artefact.name} ${artefact.version}`, phase: this.#phase, percent: this.#percent }
  }

  /** Works on the job. Returns undefined if the job is released without a result, because the gateway stops. */
  async run(): Promise<UpdateEnd | undefined> {
    let state: string | undefined = this.#leased.job.status.state
    while (state !== undefined && !this.#stopping.aborted) {
      const action = nextAction(state, this.#entry, { nowMs: Date.now() })
      if (action === undefined) return undefined
      const next: string | UpdateEnd | undefined = await this.#perform(state, action)
      if (typeof next === 'object') return next
      state = next
    }
    return undefined
  }

  [Symbol.dispose](): void {
    this.#artefact?.[Symbol.dispose]()
    this.#secrets[Symbol.dispose]()
  }

  get #entry() {
    return this.#parts.journal.find(this.#leased.job.id)
  }

  /** Aborts when the gateway stops, and when the work on the job must stop. */
  get #signal(): AbortSignal {
    return AbortSignal.any([this.#leased.signal, this.#stopping])
  }

  /** Carries out an action. Returns the new state of the job, or the end of the work. */
  async #perform(state: string, action: UpdateAction): Promise<string | UpdateEnd | undefined> {
    switch (action.action) {
      case 'prepare':
        return this.#inPreparing(state, () => this.#prepare())
      case 'report-prepared':
        return this.#inPreparing(state, async () => ({ state: 'PREPARED' }))
      case 'activate':
        return this.#requestActivation()
      case 'request':
        return this.#reporter.advance('ACTIVATING')
      case 'call':
        return this.#activate()
      case 'verify':
        return this.#verify(action.answer)
      case 'cancel':
        return this.#cancel(action)
      case 'report':
        return this.#inPreparing(state, () => this.#end(action.outcome))
    }
  }

  /** Moves a new job to `PREPARING` before the work. */
  async #inPreparing<End>(state: string, work: () => Promise<End>): Promise<End | string | undefined> {
    if (state !== 'CREATED') return work()
    const preparing = await this.#reporter.advance('PREPARING')
    return preparing === 'PREPARING' ? work() : preparing
  }

  /** Stores the result of the job in the journal, so that the platform gets it even if the gateway is killed now. */
  async #end(outcome: UpdateOutcome): Promise<UpdateOutcome> {
    if (this.#entry?.outcome === undefined) await this.#record('ended', { outcome })
    return outcome
  }

  #record(...[step, fields]: RecordParameters): Promise<unknown> {
    return this.#parts.journal.record(this.#leased.job.id, step, fields)
  }

  /** Returns the end of the work after an error before the activation. */
  async #failed(error: unknown): Promise<string | UpdateOutcome | undefined> {
    if (this.#stopping.aborted) return undefined
    if (this.#leased.stopReason === 'canceled') return 'CANCELING'
    if (this.#leased.signal.aborted) return undefined
    return this.#end(failureOf(error))
  }

  async #prepare(): Promise<string | UpdateEnd | undefined> {
    try {
      await this.#record('preparing')
      const artefact = await this.#load()
      this.#enter('transferring')
      await this.#record('transferring')
      const access = await this.#retried(this.#signal, (link) => this.#transfer(link, artefact))
      await this.#record('prepared', access === undefined ? {} : { credentialId: access.credential.instanceId })
      return { state: 'PREPARED' }
    } catch (error) {
      return this.#failed(error)
    }
  }

  /** Returns the content of the artefact after the check of its hash and its signature. */
  async #load(): Promise<CachedArtefact> {
    if (this.#artefact !== undefined) return this.#artefact
    const { cloud, cache, trustFile, now } = this.#parts
    const { artefact } = this.#definition
    this.#enter('downloading')
    const source = artefactSource({
      cloud,
      leased: this.#leased,
      signal: this.#signal,
      onProgress: (bytes) => this.#progress({ percent: (bytes / artefact.size) * 100 }),
    })
    const loaded = await cache.use(artefact, source)
    this.#artefact = loaded
    await requireTrusted(loaded, this.#definition, { file: trustFile, now: now() })
    return loaded
  }

  #enter(phase: 'downloading' | 'transferring' | 'activating' | 'verifying' | 'canceling'): void {
    this.#phase = phase
    this.#percent = 0
    this.#leased.enterPhase(phase)
  }

  #progress({ sentBytes, percent, message }: UpdateProgress): void {
    const sent = ((sentBytes ?? 0) / this.#definition.artefact.size) * 100
    this.#percent = Math.max(this.#percent, Math.floor(Math.max(sent, percent ?? 0)))
    this.#leased.note(message || this.#phase, this.#percent)
  }

  /** Connects to the link of the job. */
  async #link(): Promise<LinkUpdates> {
    const { registry, monitor } = this.#parts
    const { assetLinkId: name } = this.#definition
    // After a start of the gateway, the first inspection must end before the interfaces are complete.
    await monitor.inspected(name, { withinMs: limits.inspectedMs, signal: this.#signal })
    const registration = registry.find(name)
    if (registration === undefined)
      throw new UpdateError(
        'link_not_found',
        `Asset link ${name} is not registered with the gateway. Start the asset link`,
      )
    const link = new LinkUpdates(registration, monitor.reportOf(name) ?? registration)
    try {
      await link.ready()
      return link
    } catch (error) {
      link[Symbol.dispose]()
      throw error
    }
  }

  /** Repeats work with the link that can be repeated: while the link is busy, and a few times after a lost connection. */
  async #retried<Result>(signal: AbortSignal, work: (link: LinkUpdates) => Promise<Result>): Promise<Result> {
    const backOff = new BackOff({ firstMs: this.#parts.timing.retryMs, longestMs: 30_000 })
    const startedAtMs = performance.now()
    for (let lost = 0; ; ) {
      try {
        using link = await this.#link()
        return await work(link)
      } catch (error) {
        const code = error instanceof UpdateError ? error.code : undefined
        const isBusy = code === 'link_busy' && performance.now() - startedAtMs < limits.busyMs
        if (code === 'link_lost' || code === 'link_not_found') lost += 1
        else if (!isBusy) throw error
        if (lost >= limits.attempts || signal.aborted) throw error
        this.#leased.note(isBusy ? 'The asset link is busy' : 'The asset link is not reachable')
        await pause(backOff.nextMs(), signal)
        if (signal.aborted) throw error
      }
    }
  }

  /** Transfers the artefact. Returns the credentials that the device accepted, if it needs any. */
  async #transfer(link: LinkUpdates, artefact: CachedArtefact): Promise<DeviceAccess | undefined> {
    let isSent = false
    const attempt = (access?: DeviceAccess) =>
      link.prepare({
        ...this.#call(artefact, access),
        signal: this.#signal,
        onProgress: (progress) => {
          isSent ||= progress.sentBytes !== undefined
          this.#progress(progress)
        },
      })
    // Many links report rejected credentials with a general error. Such an error comes before the transfer.
    const isRefusal = (error: unknown) =>
      error instanceof UpdateError &&
      (error.code === 'unauthenticated' || (error.code === 'link_failed' && !isSent)) &&
      !this.#signal.aborted
    try {
      await attempt()
      return undefined
    } catch (error) {
      if (!isRefusal(error)) throw error
      let failure = error
      for (const access of await this.#credentials.choices().catch(() => [])) {
        try {
          await attempt(access)
          return access
        } catch (another) {
          if (!isRefusal(another)) throw another
          failure = another
        }
      }
      throw failure
    }
  }

  #call(artefact: CachedArtefact | undefined, access: DeviceAccess | undefined): Omit<UpdateCall, 'signal'> {
    const { linkSilenceMs: silenceMs, timing } = this.#parts
    const { kind, version } = this.#definition.artefact
    return {
      ...{ jobId: this.#leased.job.id, kind, version, silenceMs, longestMs: timing.longestCallMs },
      device: updateDeviceOf(this.#definition, this.#parts, access),
      credential: access?.credential,
      artefact: { path: artefact?.path ?? '', content: () => artefact?.content() ?? noContent() },
      onProgress: (progress) => this.#progress(progress),
    }
  }

  /** Returns the credentials that the device accepted for the transfer. */
  async #access(): Promise<DeviceAccess | undefined> {
    const credentialId = this.#entry?.credentialId
    if (credentialId === undefined) return undefined
    const access = await this.#credentials.find(credentialId)
    if (access !== undefined) return access
    throw new UpdateError(
      'unauthenticated',
      'The credentials that the device accepted are no longer available. Check the credentials of the asset',
    )
  }

  /** Requests the permission of the platform when everything that the activation needs is available. */
  async #requestActivation(): Promise<string | UpdateEnd | undefined> {
    try {
      // A link can request the content again when it activates the artefact.
      await this.#load()
      await this.#access()
      await this.#retried(this.#signal, async () => undefined)
      await this.#record('requesting')
    } catch (error) {
      return this.#failed(error)
    }
    return this.#reporter.advance('ACTIVATING')
  }

  /** Calls the activation. This function runs only if the journal proves that the activation was not called before. */
  async #activate(): Promise<string | UpdateEnd | undefined> {
    let link: LinkUpdates
    let call: Omit<UpdateCall, 'signal'>
    try {
      call = this.#call(await this.#load(), await this.#access())
      link = await this.#retried(this.#signal, () => this.#link())
    } catch (error) {
      return this.#failed(error)
    }
    using _ = link
    this.#enter('activating')
    await this.#record('calling')
    let answer: ActivationAnswer | undefined
    try {
      // Neither a lost lease nor a deleted job ends the activation of a device.
      await link.activate({ ...call, signal: this.#stopping })
      answer = { isAccepted: true }
    } catch (error) {
      if (this.#stopping.aborted) return undefined
      const code = error instanceof UpdateError ? error.code : undefined
      const message = messageOf(error)
      this.#parts.log.warn({ job: this.#leased.job.id, code, reason: message }, 'the activation of a device failed')
      if (code === 'link_busy') return this.#activateLater(error)
      if (code !== undefined && rejections.has(code)) answer = { isAccepted: false, code, message }
    }
    if (answer !== undefined) await this.#record('called', { answer })
    await this.#reporter.tryAdvance('VERIFYING')
    return this.#verify(answer)
  }

  /** Records that a busy link refused the activation, so that it can be called again. */
  async #activateLater(error: unknown): Promise<string | UpdateEnd | undefined> {
    this.#busySinceMs ??= performance.now()
    await this.#record('requesting')
    if (performance.now() - this.#busySinceMs > limits.busyMs) return this.#end(failureOf(error))
    await pause(this.#parts.timing.retryMs, this.#signal)
    return 'ACTIVATING'
  }

  /** Reads the device until it reports the new version or the time is over. */
  async #verify(answer: ActivationAnswer | undefined): Promise<UpdateEnd | undefined> {
    const { artefact, fromVersion } = this.#definition
    if (!hasVersion(artefact)) return this.#end(unverifiedOutcome(answer))
    this.#enter('verifying')
    const { reader, timing } = this.#parts
    const signal = this.#signal
    const deadlineMs = this.#verifyUntil(answer)
    const backOff = new BackOff({ firstMs: timing.verifyMs, longestMs: limits.verifyMs })
    let last: { version: string | undefined; asset: Document; sinceMs: number; reads: number } | undefined
    let trouble = 'The device reports no version'
    for (;;) {
      try {
        const asset = await reader.read({ definition: this.#definition, credentials: this.#credentials, signal })
        const version = installedVersion(asset, artefact)
        if (version !== undefined && compareVersions(version, artefact.version) === 0)
          return this.#end({ state: 'ACTIVATED', result: { version, asset } })
        const isSame = last !== undefined && last.version === version
        last =
          isSame && last !== undefined
            ? { ...last, asset, reads: last.reads + 1 }
            : { version, asset, sinceMs: Date.now(), reads: 1 }
      } catch (error) {
        if (signal.aborted) return undefined
        // A device that restarts reports its old version first, so an earlier version does not count.
        last = undefined
        trouble = `The device could not be read: ${messageOf(error)}`
      }
      const isOther =
        last?.version !== undefined && fromVersion !== undefined && compareVersions(last.version, fromVersion) !== 0
      const isSettled =
        isOther && (last?.reads ?? 0) >= limits.equalReads && Date.now() - (last?.sinceMs ?? 0) >= timing.settledMs
      if (Date.now() >= deadlineMs || (isSettled && answer?.isAccepted)) break
      await pause(Math.min(backOff.nextMs(), Math.max(0, deadlineMs - Date.now())), signal)
      if (signal.aborted) return undefined
    }
    return this.#end(outcomeOf({ answer, last, trouble, wanted: artefact.version }))
  }

  /** Returns the time until which the device is read. After a restart of the gateway, it is read for some time again. */
  #verifyUntil(answer: ActivationAnswer | undefined): number {
    const { timing } = this.#parts
    const windowMs = answer?.isAccepted === false ? timing.rejectedMs : this.#definition.verifyMinutes * 60_000
    const calledAtMs = Date.parse(this.#entry?.timestamp ?? '') || Date.now()
    return Math.max(Math.min(calledAtMs, Date.now()) + windowMs, Date.now() + Math.min(windowMs, limits.resumedMs))
  }

  /** Discards the artefact on the device. */
  async #cancel({ isTransferred }: { isTransferred: boolean }): Promise<UpdateEnd | undefined> {
    if (!isTransferred) return this.#end({ state: 'CANCELED' })
    this.#enter('canceling')
    try {
      const access = await this.#access().catch(() => undefined)
      await this.#retried(this.#stopping, (link) =>
        link.cancel({ ...this.#call(undefined, access), signal: this.#stopping }),
      )
      return await this.#end({ state: 'CANCELED' })
    } catch (error) {
      if (this.#stopping.aborted) return undefined
      if (error instanceof UpdateError && error.code === 'not_supported')
        return this.#end({ state: 'CANCELED', message: 'The asset link cannot discard the artefact on the device' })
      const { message, ...failure } = failureOf(error)
      return this.#end({ ...failure, message: `The artefact on the device could not be discarded: ${message}` })
    }
  }
}

type RecordParameters = Parameters<UpdateJournal['record']> extends [string, ...infer Rest] ? Rest : never

/** The content of a call that sends none. */
async function* noContent(): AsyncGenerator<Uint8Array> {}

function messageOf(error: unknown): string {
  return linkErrorText(error)
}

function failureOf(error: unknown): UpdateOutcome & { message: string } {
  const code = error instanceof UpdateError ? { result: { code: error.code } } : {}
  return { state: 'FAILED', message: messageOf(error).slice(0, workflowLimits.message), ...code }
}

/** Returns the outcome for an artefact whose version no device reports. */
function unverifiedOutcome(answer: ActivationAnswer | undefined): UpdateOutcome {
  if (answer?.isAccepted === true) return { state: 'ACTIVATED' }
  if (answer !== undefined) return rejectedOutcome(answer)
  return { state: 'UNKNOWN', message: unacknowledgedText, result: { code: 'version_unknown' } }
}

const unacknowledgedText = 'The asset link did not acknowledge the activation'

function rejectedOutcome({ code, message = '' }: ActivationAnswer, version?: string): UpdateOutcome {
  const result = { ...(code === undefined ? {} : { code }), ...(version === undefined ? {} : { version }) }
  return { state: 'FAILED', message: message.slice(0, workflowLimits.message), result }
}

type Verification = {
  answer: ActivationAnswer | undefined
  last: { version: string | undefined; asset: Document } | undefined
  trouble: string
  wanted: string
}

/** Returns the outcome for a device that does not report the new version. */
function outcomeOf({ answer, last, trouble, wanted }: Verification): UpdateOutcome {
  const version = last?.version
  const read = { ...(version === undefined ? {} : { version }), ...(last === undefined ? {} : { asset: last.asset }) }
  if (answer?.isAccepted === false) return rejectedOutcome(answer, version)
  const reported = version === undefined ? trouble : `The device reports version ${version} instead of ${wanted}`
  if (answer === undefined)
    return {
      state: 'UNKNOWN',
      message: `${unacknowledgedText}. ${reported}`.slice(0, workflowLimits.message),
      result: { code: 'version_unknown', ...read },
    }
  return version === undefined
    ? {
        state: 'UNKNOWN',
        message: reported.slice(0, workflowLimits.message),
        result: { code: 'version_unknown', ...read },
      }
    : {
        state: 'FAILED',
        message: reported,
        result: { code: 'version_mismatch', ...read },
      }
}
