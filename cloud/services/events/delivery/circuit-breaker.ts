import type { ProgressRow } from '../subscription-store.ts'
import { failuresBeforeOpen, retryDelayMs, retryMs } from './retry.ts'

/**
 * `CircuitBreaker` opens after failed attempts for several subjects without a success between them. While it is open, one
 * event is tried at a time, with growing pauses. A success closes it. Repeated failures of one subject do not open it,
 * because the receiver may only refuse this subject. Times are in milliseconds.
 */
export class CircuitBreaker {
  #failures: number
  #openedAt: number | null
  #blockedUntil: number | null
  /** The subjects that failed since the last success. */
  readonly #failed = new Set<string>()

  constructor({ failures, openedAt, blockedUntil }: Pick<ProgressRow, 'failures' | 'openedAt' | 'blockedUntil'>) {
    this.#failures = failures
    this.#openedAt = openedAt === null ? null : Date.parse(openedAt)
    this.#blockedUntil = blockedUntil === null ? null : Date.parse(blockedUntil)
  }

  get isOpen(): boolean {
    return this.#openedAt !== null
  }

  get openedAt(): number | null {
    return this.#openedAt
  }

  /** The time of the next attempt while the circuit breaker is open. */
  get blockedUntil(): number | null {
    return this.#blockedUntil
  }

  /** The values that are stored. */
  get state() {
    return { failures: this.#failures, openedAt: this.#openedAt, blockedUntil: this.#blockedUntil }
  }

  /** Returns whether the circuit breaker is open and an event can be tried now. */
  isProbeDue(now: number): boolean {
    return this.isOpen && now >= (this.#blockedUntil ?? 0)
  }

  /** Returns whether the circuit breaker is open for longer than an event is sent again. */
  isExpired(now: number): boolean {
    return this.#openedAt !== null && now >= this.#openedAt + retryMs
  }

  /** Returns true if this success closes the circuit breaker. */
  succeed(): boolean {
    const wasOpen = this.isOpen
    this.#failures = 0
    this.#failed.clear()
    this.#openedAt = null
    this.#blockedUntil = null
    return wasOpen
  }

  /** Counts a failed attempt. Attempts that started before the circuit breaker opened no longer count. */
  fail(subject: string, { now, isProbe }: { now: number; isProbe: boolean }): void {
    if (this.isOpen ? !isProbe : this.#failed.has(subject)) return
    if (!this.isOpen) this.#failed.add(subject)
    this.#failures++
    if (this.#failures >= failuresBeforeOpen) this.#open(now)
  }

  /** Opens the circuit breaker at once, or makes its pause longer. */
  block(now: number): void {
    this.#failures = Math.max(this.#failures + 1, failuresBeforeOpen)
    this.#open(now)
  }

  #open(now: number): void {
    this.#failed.clear()
    this.#openedAt ??= now
    this.#blockedUntil = now + retryDelayMs(this.#failures - failuresBeforeOpen + 1)
  }
}
