import { Problem } from '@millwright/api/problem.ts'
import { BackOff, pause } from '../back-off.ts'
import { type Credential, JobCredentials, leftOut, lockedText } from '../job-credentials.ts'
import type { Ending, HeldJob } from '../jobs/held-job.ts'
import { JobAgent } from '../jobs/job-agent.ts'
import { LinkClient, linkTrouble } from '../link-client.ts'
import type { Log } from '../log.ts'
import { textOf } from '../mapping/document.ts'
import type { Outgoing } from '../outgoing.ts'
import type { Registry } from '../registry/registry.ts'
import { deviceOf, isLocked, isUnreachable, readProperties, supportedProperties } from './device-info.ts'

type Options = { outgoing: Outgoing; registry: Registry; log: Log }

const atOnce = 16

/** Somebody waits for the answer, for seconds: it is of no use on a disk. */
const attempts = 4
const credentialsWithinMs = 3_000

/** Does device-info jobs: asks a device for its properties while somebody waits. */
export class DeviceInfoAgent {
  readonly #options: Options
  readonly #agent: JobAgent

  constructor(options: Options) {
    this.#options = options
    const { outgoing, log } = options
    this.#agent = new JobAgent({
      workflows: ['device-info'],
      atOnce,
      outgoing,
      log,
      ready: () => Promise.resolve(),
      work: (held) => this.#work(held),
      end: (held, ending) => this.#end(held, ending),
    })
  }

  start(): void {
    this.#agent.start()
  }

  stop(): Promise<void> {
    return this.#agent.stop()
  }

  async #work(held: HeldJob): Promise<Ending> {
    const { definition, status } = held.job
    if (status.state === 'CANCELING') return { state: 'CANCELED' }
    const name = textOf(definition.assetLinkId) ?? ''
    const registration = this.#options.registry.find(name)
    if (registration === undefined) return unreachable(`No service is registered as ${name}`)
    using link = new LinkClient(registration)
    const ask = async (credential?: Credential): Promise<Record<string, unknown>> => {
      const asking = { device: deviceOf(definition, credential), signal: held.signal }
      return definition.supported === true
        ? { properties: await supportedProperties(link, asking) }
        : { results: await readProperties(link, textsIn(definition.keys), asking) }
    }
    try {
      const result = await ask().catch((error: unknown) => {
        if (!isLocked(error)) throw error
        return this.#unlock(held, ask)
      })
      return { state: 'FINISHED', result }
    } catch (error) {
      if (held.stopReason === 'canceled') return { state: 'CANCELED' }
      if (isUnreachable(error)) return unreachable(linkTrouble(error))
      return { state: 'FAILED', message: linkTrouble(error).slice(0, 1_024) }
    }
  }

  /** Asks once more, with the credentials that the cloud has for the device, one after the other. */
  async #unlock<Result>(held: HeldJob, ask: (credential: Credential) => Promise<Result>): Promise<Result> {
    const { definition } = held.job
    const assetLinkId = textOf(definition.assetLinkId) ?? ''
    const { outgoing } = this.#options
    using credentials = new JobCredentials({ held, assetLinkId, outgoing, patienceMs: credentialsWithinMs })
    const chosen = [...(await credentials.ask(textsIn(definition.addresses))).values()].flat()
    const distinct = new Map(chosen.map((one) => [one.instanceId, one]))
    for (const credential of distinct.values()) {
      try {
        return await ask(credential)
      } catch (error) {
        if (!isLocked(error)) throw discreet(error, credential)
      }
    }
    throw new Error(lockedText(distinct.size))
  }

  async #end(held: HeldJob, { state, message, result }: Ending): Promise<void> {
    const backOff = new BackOff({ firstMs: 200 })
    const data = {
      jobId: held.job.id,
      state,
      ...(message === undefined ? {} : { message }),
      ...(result === undefined ? {} : { result }),
    }
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#options.outgoing.gatekeeper.endJob({ params: { id: held.lease }, body: { data } })
        return
      } catch (error) {
        const isFinal = error instanceof Problem && error.status < 500
        if (error instanceof Problem && error.code === 'body_too_large' && result !== undefined)
          return this.#end(held, tooLarge)
        if (isFinal || attempt >= attempts || held.signal.aborted) throw error
        await pause(backOff.nextMs(), held.signal)
      }
    }
  }
}

/** Whoever waits hears why there is no answer, instead of waiting until the time is over. */
const tooLarge: Ending = { state: 'FAILED', message: 'What the device answers is larger than what can be handed in' }

function unreachable(description: string): Ending {
  return { state: 'FINISHED', result: { unreachable: true, description: description.slice(0, 1_024) } }
}

/** What went wrong, unless it gives away what the link was told. */
function discreet(error: unknown, { secret }: Credential): unknown {
  return secret.isIn(linkTrouble(error)) ? new Error(leftOut) : error
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
