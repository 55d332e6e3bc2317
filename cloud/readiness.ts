import type { Database } from './platform/database/database.ts'

type Options = {
  database: Database
  /** The URLs of services in other processes, by name. */
  remote: ReadonlyMap<string, string>
  /** Sends a request to another process. */
  send: typeof fetch
  /** The certificate of the server. Undefined if it does not use TLS. */
  tls: { readonly warning: string | undefined } | undefined
}

/** The time limit for each check. `/readyz` must respond within one second in any state of the database. */
const checkMs = 700

/**
 * `Readiness` decides the response of `/readyz`. The platform is ready when the process has started completely, the
 * database works, and the processes with the other services respond.
 */
export class Readiness {
  readonly #options: Options
  #notReady: string | undefined

  constructor(options: Options) {
    this.#options = options
  }

  setNotReady(reason: string | undefined): void {
    this.#notReady = reason
  }

  /**
   * Returns the reason why the platform is not ready, in one short sentence without internals. Returns undefined if it
   * is ready.
   */
  async reason(): Promise<string | undefined> {
    if (this.#notReady !== undefined) return this.#notReady
    const [outage, missing] = await Promise.all([this.#options.database.outage(checkMs), this.#missingServices()])
    if (outage !== undefined) return `The database is ${outage}`
    return missing.length === 0 ? undefined : `Services not reachable: ${missing.join(', ')}`
  }

  /** The problems that do not prevent the platform from working yet. */
  get warnings(): string[] {
    const { warning } = this.#options.tls ?? {}
    return warning === undefined ? [] : [warning]
  }

  /**
   * Returns the services of other processes that do not respond. It checks their `/healthz` and not `/readyz`, because
   * their readiness depends on this process.
   */
  async #missingServices(): Promise<string[]> {
    const urls = Map.groupBy(this.#options.remote, ([, url]) => url)
    const missing = await Promise.all(
      [...urls].map(async ([url, names]) => ((await this.#isHealthy(url)) ? [] : names.map(([name]) => name))),
    )
    return missing.flat().toSorted()
  }

  async #isHealthy(url: string): Promise<boolean> {
    try {
      const response = await this.#options.send(new URL('/healthz', url), { signal: AbortSignal.timeout(checkMs) })
      await response.body?.cancel()
      return response.ok
    } catch {
      return false
    }
  }
}
