import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** The pauses after the first failed attempts. Later pauses are as long as the last one. */
const pausesMs = [5 * secondMs, 30 * secondMs, 2 * minuteMs, 10 * minuteMs, 30 * minuteMs, hourMs] as const
/** Each pause is longer or shorter by up to this part of it (jitter). */
const jitter = 0.2

/** How long an event is sent again after its first failed attempt. */
export const retryMs = subscriptionLimits.retryHours * hourMs
/** The circuit breaker opens after failed attempts for this many subjects without a success between them. */
export const failuresBeforeOpen = 5

/** Returns the pause after a failed attempt. The first failed attempt has the number 1. */
export function retryDelayMs(failedAttempts: number, random: () => number = Math.random): number {
  const pause = pausesMs[Math.min(Math.max(1, failedAttempts), pausesMs.length) - 1] ?? hourMs
  return Math.round(pause * (1 - jitter + 2 * jitter * random()))
}

type FailedEvent = { now: number; firstFailedAt: number; failedAttempts: number; random: () => number }

/**
 * Returns the time of the next attempt, or undefined if the event becomes a dead letter. The last attempt is at the end of
 * the time for retries.
 */
export function nextAttemptAt({ now, firstFailedAt, failedAttempts, random }: FailedEvent): number | undefined {
  const endsAt = firstFailedAt + retryMs
  if (now >= endsAt) return undefined
  return Math.min(now + retryDelayMs(failedAttempts, random), endsAt)
}
