import type { Api } from '../api/client.ts'

/** Somebody dragging a column makes one write of it, not hundreds. */
const writeDelayMs = 600

/**
 * What somebody set up for themselves, kept by the platform: the same in every browser. Read once at the start; a
 * change shows at once and is written a little later.
 */
export class PreferenceStore {
  readonly #api: Api
  readonly #values: Map<string, unknown>
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #pending = new Map<string, ReturnType<typeof setTimeout>>()

  private constructor(api: Api, values: Record<string, unknown>) {
    this.#api = api
    this.#values = new Map(Object.entries(values))
  }

  /** Without an answer everybody gets the defaults: a preference is no reason not to work. */
  static async open(api: Api): Promise<PreferenceStore> {
    const answer = await api.identity.readPreferences({}).catch(() => ({ data: {} }))
    return new PreferenceStore(api, answer.data)
  }

  get(name: string): unknown {
    return this.#values.get(name)
  }

  set(name: string, value: unknown): void {
    this.#values.set(name, value)
    for (const listener of this.#listeners.get(name) ?? []) listener()
    clearTimeout(this.#pending.get(name))
    this.#pending.set(
      name,
      setTimeout(() => this.#write(name), writeDelayMs),
    )
  }

  subscribe(name: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Writes what is still waiting: before signing out. */
  async flush(): Promise<void> {
    await Promise.all([...this.#pending.keys()].map((name) => this.#write(name)))
  }

  async #write(name: string): Promise<void> {
    clearTimeout(this.#pending.get(name))
    this.#pending.delete(name)
    const value = this.#values.get(name) ?? null
    await this.#api.identity.putPreference({ params: { name }, body: { data: { value } } }).catch(() => {})
  }
}
