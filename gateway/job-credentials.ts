import { BackOff, pause } from '@millwright/api/back-off.ts'
import { type AddressCredentials, gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { CloudConnection } from './cloud-connection.ts'
import type { LeasedJob } from './jobs/leased-job.ts'
import { Secret } from './secret.ts'

/** `Credential` is one set of credentials for a device, in the format that links accept. */
export type Credential = { instanceId: string; schemaUri: string; secret: Secret }

/** `CredentialSource` selects the credentials for addresses. Disposing it overwrites the credentials in memory. */
export type CredentialSource = Disposable & {
  ask: (addresses: readonly string[]) => Promise<Map<string, Credential[]>>
}

/**
 * Returns the error text for a protected device that accepted no credentials. The text contains no part of the
 * credentials.
 */
export function protectedText(refused: number): string {
  if (refused === 0) return 'The device is protected, and there are no credentials for its address'
  return `The device is protected: ${refused === 1 ? '1 credential was' : `${refused} credentials were`} rejected`
}

/** The text that replaces an error text of a link if that text contains a part of the credentials. */
export const redactedText = 'The message of the asset link is omitted, because the message contains the credentials'

/**
 * The maximum number of credentials that are tried on one device. Many devices lock an account after a few failed
 * attempts.
 */
export const maxPerAddress = 5

type Options = { leased: LeasedJob; assetLinkId: string; cloud: CloudConnection; timeoutMs?: number }

/**
 * `JobCredentials` requests credentials from the cloud for the addresses of one job's protected devices. The
 * credentials exist only in memory, and are overwritten at the end of the job.
 */
export class JobCredentials implements CredentialSource {
  readonly #options: Required<Options>
  readonly #secrets: Secret[] = []

  constructor({ timeoutMs = 60_000, ...options }: Options) {
    this.#options = { ...options, timeoutMs }
  }

  /** Returns the credentials to try at each address, in order. Throws when the cloud does not respond. */
  async ask(addresses: readonly string[]): Promise<Map<string, Credential[]>> {
    const distinct = [...new Set(addresses)]
    const chosen = new Map<string, Credential[]>()
    for (let from = 0; from < distinct.length; from += gatekeeperLimits.addressesPerRequest) {
      const some = distinct.slice(from, from + gatekeeperLimits.addressesPerRequest)
      for (const { address, credentials } of await this.#request(some)) chosen.set(address, this.#store(credentials))
    }
    return chosen
  }

  #store(credentials: AddressCredentials['credentials']): Credential[] {
    return credentials.slice(0, maxPerAddress).map(({ instanceId, schemaUri, credentials: text }) => {
      const secret = new Secret(text)
      this.#secrets.push(secret)
      return { instanceId, schemaUri, secret }
    })
  }

  /** Requests credentials. Retries while the platform is not reachable or the lease is being renewed. */
  async #request(addresses: string[]): Promise<AddressCredentials[]> {
    const { leased, assetLinkId, cloud, timeoutMs } = this.#options
    const backOff = new BackOff({ firstMs: 250, longestMs: 10_000 })
    const givenUpAtMs = performance.now() + timeoutMs
    for (;;) {
      try {
        const { data } = await cloud.gatekeeper.requestCredentials({
          params: { id: leased.job.id },
          body: { data: { assetLinkId, addresses, lease: leased.lease } },
        })
        return data
      } catch (error) {
        if (leased.signal.aborted || isFinal(error) || performance.now() > givenUpAtMs) throw error
        await pause(backOff.nextMs(), leased.signal)
      }
    }
  }

  [Symbol.dispose](): void {
    for (const secret of this.#secrets.splice(0)) secret[Symbol.dispose]()
  }
}

function isFinal(error: unknown): boolean {
  if (!(error instanceof Problem) || error.code === 'lease_lost') return false
  return error.status < 500 && ![401, 408, 429].includes(error.status)
}
