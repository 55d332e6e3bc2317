/**
 * This file measures how long the user has made no input, in any window of the console. A session without input for the
 * idle limit of the sign-in policy ends. One minute before, the console shows a warning.
 */

export const idleWarningMs = 60_000
/** How often the state is checked, and how often a window reports input to the other windows. */
const checkIntervalMs = 1_000
const reportIntervalMs = 5_000
/** While the user makes input, the session is used at least this many times within the idle limit. */
const usesPerLimit = 3

export type IdleState = 'active' | 'warning' | 'expired'

export function idleStateOf({ idleMs, limitMs }: { idleMs: number; limitMs: number }): IdleState {
  if (idleMs >= limitMs) return 'expired'
  return idleMs >= limitMs - idleWarningMs ? 'warning' : 'active'
}

const inputEvents = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const

type IdleMonitorOptions = {
  /** Uses the session, so that the server knows that the user is active. */
  onUse: () => void
  onExpired: () => void
}

/**
 * `IdleMonitor` observes the input of the user. It uses the time of day, because timers of the browser stop while the
 * computer sleeps.
 */
export class IdleMonitor {
  readonly #options: IdleMonitorOptions
  readonly #channel = new BroadcastChannel('millwright.input')
  readonly #watchers = new Set<() => void>()
  readonly #stopped = new AbortController()
  readonly #timer: ReturnType<typeof setInterval>
  #limitMs = Number.POSITIVE_INFINITY
  #inputAt = Date.now()
  #reportedAt = 0
  #usedAt = Date.now()
  #state: IdleState = 'active'

  constructor(options: IdleMonitorOptions) {
    this.#options = options
    const listening = { capture: true, passive: true, signal: this.#stopped.signal }
    for (const type of inputEvents) addEventListener(type, () => this.#onInput(), listening)
    this.#channel.onmessage = () => {
      if (this.#state === 'expired') return
      this.#inputAt = Date.now()
      this.#check()
    }
    this.#timer = setInterval(() => this.#check(), checkIntervalMs)
  }

  get state(): IdleState {
    return this.#state
  }

  get limitMinutes(): number {
    return this.#limitMs / 60_000
  }

  setLimit(minutes: number): void {
    this.#limitMs = minutes * 60_000
    this.#check()
  }

  isExpired(): boolean {
    return Date.now() - this.#inputAt >= this.#limitMs
  }

  /** Returns whether the limit has passed in a window of the console. The windows do not check at the same time. */
  isNearlyExpired(): boolean {
    return Date.now() - this.#inputAt >= this.#limitMs - 2 * reportIntervalMs
  }

  /** Records an input of the user in this window. */
  recordInput(): void {
    const now = Date.now()
    this.#inputAt = now
    this.#check()
    if (now - this.#reportedAt < reportIntervalMs) return
    this.#reportedAt = now
    this.#channel.postMessage('input')
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#stopped.abort()
    this.#channel.close()
  }

  /**
   * Records an input while the user is active. After the warning, the user decides in the dialog, so that a click does
   * not reach the page below. Input after the limit does not extend the session.
   */
  #onInput(): void {
    this.#check()
    if (this.#state === 'active') this.recordInput()
  }

  #check(): void {
    const now = Date.now()
    const state = idleStateOf({ idleMs: now - this.#inputAt, limitMs: this.#limitMs })
    if (this.#inputAt > this.#usedAt && now - this.#usedAt > this.#limitMs / usesPerLimit) {
      this.#usedAt = now
      this.#options.onUse()
    }
    if (state === this.#state) return
    this.#state = state
    for (const watcher of this.#watchers) watcher()
    if (state === 'expired') this.#options.onExpired()
  }
}
