import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { oneOf } from '@millwright/api/inventory/shapes.ts'
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import { readIfExists, writeDurably } from '../durable-file.ts'
import type { Log } from '../log.ts'

/**
 * The update journal is a folder with one file for each update job. It proves after a crash whether the activation of a
 * device was started, so that no device is activated twice, and it keeps the result of a job until the platform has it.
 *
 * The steps of a job:
 * - `preparing`: the artefact is downloaded and checked. The device received nothing.
 * - `transferring`: the link was called, and the device may have received the artefact.
 * - `prepared`: the device has the artefact.
 * - `requesting`: the gateway asks the platform for permission to activate. The activation was not started.
 * - `calling`: the activation of the link is called. From now on, the device may have activated the artefact.
 * - `called`: the link answered the activation.
 * - `ended`: the job has a result, which the platform may not have yet. The file stays for some weeks, so that a platform that
 *   was restored from a backup does not cause a second activation.
 *
 * A missing file proves nothing: without a file, the gateway never calls the activation of a job in the state `ACTIVATING`.
 */
export const journalSteps = [
  'preparing',
  'transferring',
  'prepared',
  'requesting',
  'calling',
  'called',
  'ended',
] as const
export type JournalStep = (typeof journalSteps)[number]

/** The steps that can follow a step. `calling` returns to `requesting` only if the link refused the call as busy. */
export const nextSteps: Readonly<Record<JournalStep | 'none', readonly JournalStep[]>> = {
  none: ['preparing', 'requesting', 'ended'],
  preparing: ['preparing', 'transferring', 'prepared', 'requesting', 'ended'],
  transferring: ['preparing', 'transferring', 'prepared', 'requesting', 'ended'],
  prepared: ['requesting', 'ended'],
  requesting: ['requesting', 'calling', 'ended'],
  calling: ['requesting', 'called', 'ended'],
  called: ['ended'],
  ended: [],
}

/** The final states of an update job. */
export const endStates = ['ACTIVATED', 'FAILED', 'CANCELED', 'UNKNOWN'] as const

const text = Type.String({ maxLength: 4_096 })

const UpdateOutcome = Type.Object({
  state: oneOf(endStates),
  message: Type.Optional(text),
  result: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})
export type UpdateOutcome = Static<typeof UpdateOutcome>

/** The answer of the link to an activation. */
const ActivationAnswer = Type.Object({
  isAccepted: Type.Boolean(),
  code: Type.Optional(text),
  message: Type.Optional(text),
})
export type ActivationAnswer = Static<typeof ActivationAnswer>

const JournalEntry = Type.Object({
  jobId: Type.String({ pattern: '^[0-9A-Za-z-]{1,64}$' }),
  step: oneOf(journalSteps),
  /** The time of the step. */
  timestamp: text,
  /** The credential that the device accepted. The credential itself is never stored. */
  credentialId: Type.Optional(text),
  answer: Type.Optional(ActivationAnswer),
  outcome: Type.Optional(UpdateOutcome),
})
export type JournalEntry = Static<typeof JournalEntry>

/** The time after which the entry of a job is deleted, the maximum number of entries, and how many are deleted together. */
const limits = { days: 60, entries: 5_000, removedTogether: 100 } as const
const dayMs = 24 * 60 * 60_000

type Options = { folder: string; log: Log }

export class UpdateJournal {
  readonly #options: Options
  readonly #entries = new Map<string, JournalEntry>()

  private constructor(options: Options) {
    this.#options = options
  }

  static async open(options: Options): Promise<UpdateJournal> {
    const journal = new UpdateJournal(options)
    const { folder, log } = options
    await mkdir(folder, { recursive: true, mode: 0o700 })
    for (const name of await readdir(folder)) {
      const file = join(folder, name)
      const entry = name.endsWith('.json') ? entryIn(await readIfExists(file)) : undefined
      if (entry !== undefined && `${entry.jobId}.json` === name) journal.#entries.set(entry.jobId, entry)
      else {
        log.warn({ file }, 'removed a file that is not the journal of an update')
        await rm(file, { force: true })
      }
    }
    await journal.#removeOld()
    return journal
  }

  find(jobId: string): JournalEntry | undefined {
    return this.#entries.get(jobId)
  }

  /**
   * Records the next step of a job. Resolves when the step is on disk. Fields of earlier steps stay. Throws when the step
   * cannot follow the current one.
   */
  async record(
    jobId: string,
    step: JournalStep,
    fields: Pick<JournalEntry, 'credentialId' | 'answer' | 'outcome'> = {},
  ): Promise<JournalEntry> {
    const before = this.#entries.get(jobId)
    if (!nextSteps[before?.step ?? 'none'].includes(step))
      throw new Error(`The step ${step} cannot follow the step ${before?.step ?? 'none'} of an update`)
    const entry: JournalEntry = { ...before, ...fields, jobId, step, timestamp: new Date().toISOString() }
    await writeDurably(this.#fileOf(jobId), JSON.stringify(entry))
    this.#entries.set(jobId, entry)
    if (this.#entries.size > limits.entries + limits.removedTogether) await this.#removeOld()
    return entry
  }

  /** Removes the details of a result that the platform has. */
  async confirm(jobId: string): Promise<void> {
    const entry = this.#entries.get(jobId)
    if (entry?.outcome?.result === undefined) return
    const short = { ...entry, outcome: { state: entry.outcome.state } }
    await writeDurably(this.#fileOf(jobId), JSON.stringify(short))
    this.#entries.set(jobId, short)
  }

  /** Removes old entries. A job without an entry is only verified after its activation was allowed. */
  async #removeOld(): Promise<void> {
    const oldest = new Date(Date.now() - limits.days * dayMs).toISOString()
    const newestFirst = [...this.#entries.values()].toSorted((a, b) => b.timestamp.localeCompare(a.timestamp))
    const old = newestFirst.filter(({ timestamp }, index) => timestamp < oldest || index >= limits.entries)
    for (const { jobId } of old) {
      this.#entries.delete(jobId)
      await rm(this.#fileOf(jobId), { force: true })
    }
  }

  #fileOf(jobId: string): string {
    if (!/^[0-9A-Za-z-]{1,64}$/.test(jobId)) throw new Error('The id of the job is not valid')
    return join(this.#options.folder, `${jobId}.json`)
  }
}

function entryIn(content: string | undefined): JournalEntry | undefined {
  try {
    const entry: unknown = JSON.parse(content ?? '')
    return Value.Check(JournalEntry, entry) ? entry : undefined
  } catch {
    return undefined
  }
}

/**
 * What the gateway does with a leased job:
 * - `prepare`: transfer the artefact.
 * - `report-prepared`: report that the device has the artefact.
 * - `activate`: request the permission of the platform, then call the activation.
 * - `request`: request the permission of the platform only, because the activation was started already.
 * - `call`: call the activation. The platform gave its permission, and the journal proves that it was not called before.
 * - `verify`: read the version of the device. Without `answer`, the link did not answer the activation.
 * - `cancel`: discard the artefact on the device. `isTransferred`: the device may have it.
 * - `report`: report a result.
 */
export type UpdateAction =
  | { action: 'prepare' | 'report-prepared' | 'activate' | 'request' | 'call' }
  | { action: 'verify'; answer?: ActivationAnswer }
  | { action: 'cancel'; isTransferred: boolean }
  | { action: 'report'; outcome: UpdateOutcome }

/**
 * The time after the request for permission in which the activation may be called. After it, the maintenance window of the
 * device can be over, so the job fails without an activation.
 */
export const activateWithinMs = 10 * 60_000

/** Returns what the gateway does with a job in a state. Returns undefined for a state in which the gateway has no work. */
export function nextAction(
  state: string,
  entry: JournalEntry | undefined,
  { nowMs }: { nowMs: number },
): UpdateAction | undefined {
  const { step, outcome, answer } = entry ?? {}
  // A platform that was restored from a backup can offer a job again whose device was activated.
  const isActivated = outcome?.state === 'ACTIVATED' || outcome?.state === 'UNKNOWN'
  const isStarted = isActivated || step === 'calling' || step === 'called'
  if (outcome !== undefined && (!isActivated || state === 'ACTIVATING' || state === 'VERIFYING'))
    return { action: 'report', outcome }
  switch (state) {
    case 'CREATED':
    case 'PREPARING':
      return { action: isStarted || step === 'prepared' || step === 'requesting' ? 'report-prepared' : 'prepare' }
    case 'ACTIVATE':
      return { action: isStarted ? 'request' : 'activate' }
    case 'ACTIVATING':
      if (entry?.step === 'requesting')
        return isRecent(entry, nowMs) ? { action: 'call' } : { action: 'report', outcome: expiredOutcome }
      return { action: 'verify', ...(answer === undefined ? {} : { answer }) }
    case 'VERIFYING':
      return { action: 'verify', ...(answer === undefined ? {} : { answer }) }
    case 'CANCELING':
      return { action: 'cancel', isTransferred: step !== 'preparing' }
    default:
      return undefined
  }
}

function isRecent({ timestamp }: JournalEntry, nowMs: number): boolean {
  return Math.abs(nowMs - Date.parse(timestamp)) <= activateWithinMs
}

export const expiredOutcome: UpdateOutcome = {
  state: 'FAILED',
  message:
    'The gateway did not receive the permission of the platform in time, so it did not activate the device. Retry the device',
  result: { code: 'activation_expired' },
}
