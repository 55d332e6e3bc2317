import { gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import { type Credential, JobCredentials } from '../job-credentials.ts'
import type { LeasedJob } from '../jobs/leased-job.ts'

type Options = { leased: LeasedJob; cloud: CloudConnection }

type Request = {
  address: string
  resolve: (credentials: Credential[]) => void
  reject: (error: unknown) => void
}

/** The time for which requests of several devices are collected into one request to the platform. */
const collectMs = 20

/**
 * `TemplateCredentials` requests the credentials of the template of a monitoring job. Requests of several devices are sent
 * together. Disposing it overwrites the credentials in memory.
 */
export class TemplateCredentials implements Disposable {
  readonly #options: Options
  readonly #sources = new Map<string, JobCredentials>()
  readonly #waiting = new Map<string, Request[]>()

  constructor(options: Options) {
    this.#options = options
  }

  /** Returns the credentials to try at an address through a link, in order. */
  ask(assetLinkId: string, address: string): Promise<Credential[]> {
    return new Promise((resolve, reject) => {
      const request = { address, resolve, reject }
      const waiting = this.#waiting.get(assetLinkId)
      if (waiting !== undefined && waiting.length < gatekeeperLimits.addressesPerRequest) {
        waiting.push(request)
        return
      }
      const group = [request]
      this.#waiting.set(assetLinkId, group)
      setTimeout(() => {
        if (this.#waiting.get(assetLinkId) === group) this.#waiting.delete(assetLinkId)
        void this.#request(assetLinkId, group)
      }, collectMs)
    })
  }

  async #request(assetLinkId: string, requests: readonly Request[]): Promise<void> {
    const source = this.#sources.get(assetLinkId) ?? new JobCredentials({ ...this.#options, assetLinkId })
    this.#sources.set(assetLinkId, source)
    try {
      const chosen = await source.ask(requests.map(({ address }) => address))
      for (const { address, resolve } of requests) resolve(chosen.get(address) ?? [])
    } catch (error) {
      for (const { reject } of requests) reject(error)
    }
  }

  [Symbol.dispose](): void {
    for (const source of this.#sources.values()) source[Symbol.dispose]()
  }
}
