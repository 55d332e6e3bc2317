type BackOffOptions = { firstMs: number; longestMs: number; random?: () => number }

/**
 * Returns the pause after a failed attempt. The first attempt has the number 1. Pauses double up to the longest pause. Each
 * pause is randomly shortened by up to a half (jitter), so that clients that failed at the same time do not retry at the
 * same time.
 */
export function backOffMs(attempt: number, { firstMs, longestMs, random = Math.random }: BackOffOptions): number {
  const longest = Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 30))
  return Math.round(longest * (0.5 + random() / 2))
}

/** `BackOff` counts consecutive failed attempts. */
export class BackOff {
  readonly #options: BackOffOptions
  #failures = 0

  constructor({ firstMs = 500, longestMs = 60_000, random = Math.random }: Partial<BackOffOptions> = {}) {
    this.#options = { firstMs, longestMs, random }
  }

  /** Counts a failure and returns the pause before the next attempt. */
  nextMs(): number {
    this.#failures++
    return backOffMs(this.#failures, this.#options)
  }

  /** Resets the count after a success, so that the next pause is the shortest one again. */
  reset(): void {
    this.#failures = 0
  }
}

/**
 * Waits for `ms` milliseconds. Returns early, without an error, when the signal is aborted. With `ref: false`, the
 * timer does not keep the process alive.
 */
export function pause(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    // In a browser, a timer is a number and has no `unref` method.
    const timer = setTimeout(end, ms)
    if (!ref) (timer as { unref?(): void }).unref?.()
    signal?.addEventListener('abort', end)
  })
}
