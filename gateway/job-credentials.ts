import { BackOff, pause } from '@millwright/api/back-off.ts'
import { type AddressCredentials, gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { HeldJob } from './jobs/held-job.ts'
import type { Outgoing } from './outgoing.ts'
import { Secret } from './secret.ts'

/** One set of credentials for a device, as a link takes it. */
export type Credential = { instanceId: string; schemaUri: string; secret: Secret }

/** What people read about a device that stays locked. Nothing of the credentials is in it. */
export function lockedText(refused: number): string {
  if (refused === 0) return 'The device is protected, and there are no credentials for its address'
  return `The device is protected: ${refused === 1 ? '1 credential was' : `${refused} credentials were`} refused`
}

/** In place of what a link says about what it was told. */
export const leftOut = 'What the link says about it is left out, because it names the credentials'

/** More are not tried at one device: many lock an account after a few wrong ones. */
const mostPerAddress = 5

type Options = { held: HeldJob; assetLinkId: string; outgoing: Outgoing; patienceMs?: number }

/**
 * The credentials that the cloud chooses for the devices of one job. They are asked for by address when a device turns
 * out to be protected, live in memory only, and are overwritten at the end.
 */
export class JobCredentials implements Disposable {
  readonly #options: Required<Options>
  readonly #given: Secret[] = []

  constructor({ patienceMs = 60_000, ...options }: Options) {
    this.#options = { ...options, patienceMs }
  }

  /** What is to be tried at each address, in order. Throws when the cloud does not give any answer. */
  async ask(addresses: readonly string[]): Promise<Map<string, Credential[]>> {
    const distinct = [...new Set(addresses)]
    const chosen = new Map<string, Credential[]>()
    for (let from = 0; from < distinct.length; from += gatekeeperLimits.addressesPerRequest) {
      const some = distinct.slice(from, from + gatekeeperLimits.addressesPerRequest)
      for (const { address, credentials } of await this.#request(some)) chosen.set(address, this.#keep(credentials))
    }
    return chosen
  }

  #keep(credentials: AddressCredentials['credentials']): Credential[] {
    return credentials.slice(0, mostPerAddress).map(({ instanceId, schemaUri, credentials: text }) => {
      const secret = new Secret(text)
      this.#given.push(secret)
      return { instanceId, schemaUri, secret }
    })
  }

  /** A line that is down, or a lease that is about to be renewed, is waited for. */
  async #request(addresses: string[]): Promise<AddressCredentials[]> {
    const { held, assetLinkId, outgoing, patienceMs } = this.#options
    const backOff = new BackOff({ firstMs: 250, longestMs: 10_000 })
    const givenUpAtMs = performance.now() + patienceMs
    for (;;) {
      try {
        const { data } = await outgoing.gatekeeper.requestCredentials({
          params: { id: held.job.id },
          body: { data: { assetLinkId, addresses, lease: held.lease } },
        })
        return data
      } catch (error) {
        if (held.signal.aborted || isFinal(error) || performance.now() > givenUpAtMs) throw error
        await pause(backOff.nextMs(), held.signal)
      }
    }
  }

  [Symbol.dispose](): void {
    for (const secret of this.#given.splice(0)) secret[Symbol.dispose]()
  }
}

function isFinal(error: unknown): boolean {
  if (!(error instanceof Problem) || error.code === 'lease_lost') return false
  return error.status < 500 && ![401, 408, 429].includes(error.status)
}
