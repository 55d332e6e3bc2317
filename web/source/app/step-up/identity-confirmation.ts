/**
 * `IdentityConfirmation` is the request to confirm the identity of the user. All calls that need the confirmation at
 * the same time share one dialog.
 */
export class IdentityConfirmation {
  readonly #watchers = new Set<() => void>()
  #pending: { result: Promise<boolean>; resolve: (isConfirmed: boolean) => void } | undefined

  get isOpen(): boolean {
    return this.#pending !== undefined
  }

  /** Opens the dialog. Returns whether the user confirmed their identity. */
  request(): Promise<boolean> {
    if (this.#pending === undefined) {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      this.#pending = { result: promise, resolve }
      this.#notify()
    }
    return this.#pending.result
  }

  /** Closes the dialog. The waiting calls are repeated, or fail if the user cancelled the dialog. */
  close(isConfirmed: boolean): void {
    this.#pending?.resolve(isConfirmed)
    this.#pending = undefined
    this.#notify()
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #notify(): void {
    for (const watcher of this.#watchers) watcher()
  }
}
