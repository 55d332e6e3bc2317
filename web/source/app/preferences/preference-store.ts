import type { Api } from '../api/client.ts'

/**
 * The delay before a change is sent. Several changes of one preference within this time are sent in one request, for
 * example while the user drags a column.
 */
const writeDelayMs = 600

/**
 * `PreferenceStore` contains the preferences of the user. They are loaded once when the console starts. A change takes
 * effect immediately, and is sent to the server after a short delay.
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

  /** Loads the preferences. If they cannot be loaded, the defaults are used. */
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

  /** Sends all pending changes. The console calls this function before sign-out. */
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
