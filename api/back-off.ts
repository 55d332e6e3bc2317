type BackOffOptions = { firstMs: number; longestMs: number; random?: () => number }

/**
 * The pause after an attempt that failed; the first attempt is 1. Pauses double up to the longest one. Between half of a
 * pause and all of it is random (jitter), so that clients that failed together do not come back together.
 */
export function backOffMs(attempt: number, { firstMs, longestMs, random = Math.random }: BackOffOptions): number {
  const longest = Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 30))
  return Math.round(longest * (0.5 + random() / 2))
}

/** `BackOff` counts the attempts that failed one after the other. */
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

  /** Call it after a success: the next pause is the first one again. */
  reset(): void {
    this.#failures = 0
  }
}

/** Waits. Returns early, without an error, when the signal is aborted. Without `ref` it does not keep a process alive. */
export function pause(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    // In a browser a timer is a number.
    const timer = setTimeout(end, ms)
    if (!ref) (timer as { unref?(): void }).unref?.()
    signal?.addEventListener('abort', end)
  })
}
