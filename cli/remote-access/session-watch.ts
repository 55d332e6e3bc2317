import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '@millwright/api/problem.ts'
import {
  extensionMinutes,
  type RemoteSession,
  remoteAccess,
  type SessionEnding,
} from '@millwright/api/remote-access.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { formatCount, sanitize } from '../output/text.ts'
import type { Session } from '../session/session.ts'

/** This file watches a remote session that a command uses: warnings before its end, extensions, and its end. */

const minuteMs = 60_000
const defaultPollMs = 15_000
/** The shortest time between two reads of a session. */
const minPollMs = 500
/** The times before the end of a session at which the command prints a warning. */
const warningsMs = [5 * minuteMs, minuteMs] as const
/** The extension that a warning suggests, if the policy allows it. */
const suggestedMinutes = 60

type WatchOptions = {
  details: RemoteSession
  signal: AbortSignal
  /** Receives the error that describes why the session ended. */
  onEnd: (error: CommandError) => void
  pollMs?: number
}

/** `SessionWatch` reads a session regularly until it ends or until `signal` is aborted. */
export class SessionWatch {
  readonly #session: Session
  readonly #options: WatchOptions
  #details: RemoteSession
  #pollMs: number
  /** The warnings that are still to print, the longest time first. */
  #warnings: number[]
  #isUnreachable = false

  constructor(session: Session, options: WatchOptions) {
    this.#session = session
    this.#options = options
    this.#details = options.details
    this.#pollMs = options.pollMs ?? defaultPollMs
    this.#warnings = this.#futureWarnings()
  }

  get details(): RemoteSession {
    return this.#details
  }

  async run(): Promise<void> {
    const { signal } = this.#options
    while (!signal.aborted) {
      await delay(this.#pauseMs(), undefined, { signal }).catch(() => {})
      if (!signal.aborted) await this.refresh()
    }
  }

  /** Reads the session now, for example because a stream reported its end. */
  async refresh(): Promise<void> {
    const { signal, onEnd } = this.#options
    const { id } = this.#details
    try {
      const { data } = await this.#session.api(remoteAccess).readSession({ params: { id } })
      if (signal.aborted) return
      this.#update(data)
      if (data.state === 'ended') return onEnd(endError(data))
      await this.#warn()
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Problem && error.status < 500 && error.status !== 429)
        return onEnd(new CommandError(`The session ${id} can no longer be read: ${error.message}`, { cause: error }))
      this.#noteUnreachable()
    }
  }

  #update(details: RemoteSession): void {
    if (this.#isUnreachable) this.#session.terminal.note('The platform is reachable again.')
    this.#isUnreachable = false
    const isExtended = details.expiresTimestamp > this.#details.expiresTimestamp
    this.#details = details
    if (!isExtended) return
    this.#warnings = this.#futureWarnings()
    this.#session.terminal.note(`The session is extended until ${localTime(details.expiresTimestamp)}.`)
  }

  #noteUnreachable(): void {
    if (!this.#isUnreachable)
      this.#session.terminal.note('The platform is not reachable at the moment. The command tries again.')
    this.#isUnreachable = true
  }

  async #warn(): Promise<void> {
    const due = this.#warnings.filter((ms) => ms >= this.#leftMs())
    if (due.length === 0) return
    this.#warnings = this.#warnings.filter((ms) => !due.includes(ms))
    const hint = await this.#extensionHint()
    if (!this.#options.signal.aborted)
      this.#session.terminal.note(`The session ends in ${timeLeftText(this.#details)}.${hint}`)
  }

  /** Returns the command that extends the session, or no text if the platform would refuse it. */
  async #extensionHint(): Promise<string> {
    const { id, accessGroup } = this.#details
    try {
      const { data: policy } = await this.#session.api(remoteAccess).readPolicy({ params: { accessGroup } })
      const minutes = Math.min(suggestedMinutes, extensionMinutes(this.#details, policy))
      return minutes === 0 ? '' : ` To extend it: millwright remote extend ${id} --minutes ${minutes}`
    } catch {
      // The warning is more important than the hint.
      return ''
    }
  }

  #futureWarnings(): number[] {
    return warningsMs.filter((ms) => ms < this.#leftMs())
  }

  #leftMs(): number {
    return timeLeftMs(this.#details)
  }

  #pauseMs(): number {
    const left = this.#leftMs()
    const next = left - (this.#warnings[0] ?? 0)
    return Math.max(Math.min(this.#pollMs, next), Math.min(minPollMs, this.#pollMs))
  }
}

const endings: Readonly<Record<SessionEnding, string>> = {
  'ended-by-user': 'The session was ended',
  'ended-by-reviewer': 'A reviewer ended the session',
  denied: 'The session was denied',
  'approval-expired': 'The request for approval expired',
  expired: 'The time of the session is over',
  idle: 'The session ended because no data was sent for the idle time of its policy',
  'permission-lost': 'The session ended because you no longer have the permission',
  'gateway-offline': 'The session ended because the gateway is not connected',
  'target-not-allowed': 'The gateway does not allow this target',
  'host-key-changed': 'The session ended because the host key of the device changed',
  'recording-full': 'The session ended because its recording reached the maximum size',
  'switched-off': 'The session ended because remote access was switched off',
  'asset-deleted': 'The session ended because its asset was deleted',
}

/** Returns the error of a command whose session ended: why, and the next step. */
export function endError({ ending, endingDetail, endedBy, decidedBy }: RemoteSession): CommandError {
  const person = ending === 'denied' ? decidedBy : endedBy
  const by = person === undefined ? '' : ` by ${sanitize(person.name)}`
  const reason =
    endingDetail === undefined || endingDetail === '' ? '' : `: ${sanitize(endingDetail).replace(/\.$/, '')}`
  const text = ending === undefined ? 'The session ended' : endings[ending]
  const isDenied = ending === 'denied' || ending === 'permission-lost' || ending === 'approval-expired'
  return new CommandError(`${text}${ending === 'ended-by-reviewer' ? '' : by}${reason}.`, {
    exitCode: isDenied ? exitCodes.denied : exitCodes.failed,
    ...nextStep(ending),
  })
}

function nextStep(ending: SessionEnding | undefined): { next?: string } {
  if (ending === 'expired' || ending === 'idle') return { next: 'connect again: millwright connect' }
  if (ending === 'host-key-changed')
    return {
      next: 'check the key on the device; then: millwright remote host-keys <asset>, millwright remote forget-host-key <id>',
    }
  return {}
}

function timeLeftMs({ expiresTimestamp }: RemoteSession): number {
  return Date.parse(expiresTimestamp) - Date.now()
}

/** Returns the time until a session or its request for approval expires. */
export function timeLeftText(session: RemoteSession): string {
  return durationText(timeLeftMs(session))
}

export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 120) return formatCount(seconds, 'second')
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? formatCount(minutes, 'minute') : `${Math.round(minutes / 60)} hours`
}

/** Formats a time of the platform in the time zone of the user. */
export function localTime(timestamp: string): string {
  const time = new Date(timestamp)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`
}
