import type { Caller } from '../../platform/access/caller.ts'

/** How often it is written down that a gateway was heard of. */
const everyMs = 20_000
const remembered = 20_000

type Tell = (caller: Caller, version: string | undefined) => Promise<unknown>

/** Notes who comes, but not at every word: a gateway asks for work all the time. */
export class Attendance {
  readonly #tell: Tell
  readonly #toldAt = new Map<string, number>()

  constructor(tell: Tell) {
    this.#tell = tell
  }

  async note(caller: Caller, version?: string): Promise<void> {
    const { id } = caller.principal
    const now = performance.now()
    const before = this.#toldAt.get(id)
    if (version === undefined && before !== undefined && now - before < everyMs) return
    this.#toldAt.delete(id)
    this.#toldAt.set(id, now)
    if (this.#toldAt.size > remembered) this.#toldAt.delete(this.#toldAt.keys().next().value ?? '')
    await this.#tell(caller, version)
  }
}
