import type { RemoteSession } from '@millwright/api/remote-access.ts'

type SessionTimes = Pick<
  RemoteSession,
  'state' | 'createdTimestamp' | 'openedTimestamp' | 'expiresTimestamp' | 'endedTimestamp'
>

/** Returns how long a session is or was open. Returns undefined for a session that was never open. */
export function durationMsOf(session: SessionTimes, now: number): number | undefined {
  if (session.openedTimestamp === undefined) return undefined
  const end = session.endedTimestamp === undefined ? now : Date.parse(session.endedTimestamp)
  return Math.max(0, end - Date.parse(session.openedTimestamp))
}

/** Returns the time until a session expires. Returns undefined for a session that has ended. */
export function timeLeftMsOf(session: SessionTimes, now: number): number | undefined {
  if (session.state === 'ended') return undefined
  return Math.max(0, Date.parse(session.expiresTimestamp) - now)
}

/** Returns the time left as `h:mm:ss`, or as `m:ss` below one hour. */
export function clockText(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  const shown = parts[0] === 0 ? parts.slice(1) : parts
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':')
}

const extensions = [15, 30, 60, 120]

/** Returns the durations, in minutes, by which a user can extend a session, if the policy allows up to `maxMinutes`. */
export function extensionChoices(maxMinutes: number): number[] {
  const allowed = extensions.filter((minutes) => minutes <= maxMinutes)
  return allowed.length === 0 && maxMinutes > 0 ? [maxMinutes] : allowed
}
