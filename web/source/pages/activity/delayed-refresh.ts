type DelayedRefreshOptions = { intervalMs: number; isHidden: () => boolean; refresh: () => void }

/**
 * `DelayedRefresh` groups the events of an interval into one refresh, because a scan causes thousands of events in a short time.
 * While the page is hidden, it does not refresh. It refreshes once when the page is shown again.
 */
export class DelayedRefresh {
  readonly #options: DelayedRefreshOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #isDue = false

  constructor(options: DelayedRefreshOptions) {
    this.#options = options
  }

  /** Requests a refresh at the end of the interval. */
  request(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#isDue = true
      this.showChanges()
    }, this.#options.intervalMs)
  }

  /** Refreshes now if a refresh is due and the page is visible. */
  showChanges(): void {
    if (!this.#isDue || this.#options.isHidden()) return
    this.#isDue = false
    this.#options.refresh()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#isDue = false
  }
}
