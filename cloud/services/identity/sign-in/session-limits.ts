import type { SignInPolicy } from '@millwright/api/sign-in-security.ts'
import type { SessionRow, SessionWindow } from './session-store.ts'

/** Named limits of sessions that do not depend on the policy. */
export const sessionLimits = {
  /** A user has at most this many sessions. A new sign-in ends the sessions that were not used for the longest time. */
  perUser: 100,
  /** The use of a session is stored at most once in this time. */
  useMs: 60_000,
  knownDevices: 100,
  knownDeviceDays: 180,
} as const

type Policy = Pick<SignInPolicy, 'idleMinutes' | 'absoluteHours'>

const msOf = ({ idleMinutes, absoluteHours }: Policy) => ({
  idle: idleMinutes * 60_000,
  absolute: absoluteHours * 3_600_000,
})

/** Returns the time when a session must end, in milliseconds since 1970. A shorter policy applies to existing sessions. */
export function absoluteEnd({ createdAt, expiresAt }: Pick<SessionRow, 'createdAt' | 'expiresAt'>, policy: Policy) {
  return Math.min(Date.parse(expiresAt), Date.parse(createdAt) + msOf(policy).absolute)
}

type SessionTimes = Pick<SessionRow, 'createdAt' | 'expiresAt' | 'lastUsedAt'>

export function isLive(session: SessionTimes, policy: Policy, nowMs: number): boolean {
  return nowMs < absoluteEnd(session, policy) && nowMs < Date.parse(session.lastUsedAt) + msOf(policy).idle
}

/** Returns the time when an access token of a session that is used now must expire at the latest. */
export function tokenEnd(session: SessionTimes, policy: Policy, nowMs: number): Date {
  return new Date(Math.min(absoluteEnd(session, policy), nowMs + msOf(policy).idle))
}

/** Returns the times that live sessions satisfy, for statements. */
export function sessionWindow(policy: Policy, nowMs: number): SessionWindow {
  const { idle, absolute } = msOf(policy)
  const isoOf = (ms: number) => new Date(ms).toISOString()
  return { now: isoOf(nowMs), createdAfter: isoOf(nowMs - absolute), usedAfter: isoOf(nowMs - idle) }
}
