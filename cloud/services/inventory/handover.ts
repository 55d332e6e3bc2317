/** The text of all remembered payloads. As objects they take several times as much memory. */
const mostCharacters = 4 * 1024 * 1024

type Kept = { payload: unknown /** As many as it is printed with. */; characters: number }

/**
 * What accepted writes say, from their acceptance until they are applied, if that happens in this process: what is at
 * hand need not be read and parsed again. Nothing relies on it, so the oldest are forgotten when it is too much.
 */
export class Handover {
  readonly #payloads = new Map<string, Kept>()
  #characters = 0

  keep(id: string, kept: Kept): void {
    this.#payloads.set(id, kept)
    this.#characters += kept.characters
    for (const oldest of this.#payloads.keys()) {
      if (this.#characters <= mostCharacters) return
      this.take(oldest)
    }
  }

  /** Answers it once: whoever tries again reads what is stored. */
  take(id: string): unknown {
    const kept = this.#payloads.get(id)
    if (kept === undefined) return undefined
    this.#payloads.delete(id)
    this.#characters -= kept.characters
    return kept.payload
  }
}
