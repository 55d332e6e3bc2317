import { pause } from '@millwright/api/back-off.ts'

/** `Clock` is the time by which deliveries are repeated. Tests replace it, and move it by hours. */
export type Clock = {
  /** Returns the time in milliseconds. */
  now(): number
  /** Waits for a time, or until the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

/** The longest time that a timer can wait. */
const longestTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  wait: (ms, signal) => pause(Math.min(Math.max(0, ms), longestTimerMs), signal, { ref: false }),
}
