/** How many assets the writes that are remembered may be about. */
const most = 5_000

/**
 * What accepted writes say, from their acceptance until they are applied, if that happens in this process: what is at
 * hand need not be read and parsed again. Nothing relies on it, so the oldest are forgotten when there are too many.
 */
export class Handover {
  readonly #payloads = new Map<string, { payload: unknown; items: number }>()
  #items = 0

  keep(id: string, { payload, items }: { payload: unknown; items: number }): void {
    this.#payloads.set(id, { payload, items })
    this.#items += items
    for (const oldest of this.#payloads.keys()) {
      if (this.#items <= most) return
      this.take(oldest)
    }
  }

  /** Answers it once: whoever tries again reads what is stored. */
  take(id: string): unknown {
    const kept = this.#payloads.get(id)
    if (kept === undefined) return undefined
    this.#payloads.delete(id)
    this.#items -= kept.items
    return kept.payload
  }
}
