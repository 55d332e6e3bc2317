import { setTimeout as timeout } from 'node:timers/promises'

type Options = { firstMs?: number; longestMs?: number; random?: () => number }

/** Growing pauses between attempts, with jitter, so that many gateways do not come back at the same moment. */
export class BackOff {
  readonly #firstMs: number
  readonly #longestMs: number
  readonly #random: () => number
  #attempts = 0

  constructor({ firstMs = 500, longestMs = 60_000, random = Math.random }: Options = {}) {
    this.#firstMs = firstMs
    this.#longestMs = longestMs
    this.#random = random
  }

  /** How long to wait before the next attempt: between half and all of a pause that doubles each time. */
  nextMs(): number {
    const whole = Math.min(this.#longestMs, this.#firstMs * 2 ** Math.min(this.#attempts, 20))
    this.#attempts += 1
    return Math.round(whole * (0.5 + this.#random() / 2))
  }

  /** It worked: the next failure starts from the beginning. */
  reset(): void {
    this.#attempts = 0
  }
}

/** Waits; ends early, without an error, when the signal says so. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await timeout(ms, undefined, { signal }).catch(() => undefined)
}
