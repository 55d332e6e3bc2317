import { Problem } from '@millwright/api/problem.ts'
import { BackOff, pause } from '../back-off.ts'
import type { Ending, HeldJob } from '../jobs/held-job.ts'
import { JobAgent } from '../jobs/job-agent.ts'
import { LinkClient, linkTrouble } from '../link-client.ts'
import type { Log } from '../log.ts'
import { textOf } from '../mapping/document.ts'
import type { Outgoing } from '../outgoing.ts'
import type { Registry } from '../registry/registry.ts'
import { deviceOf, isUnreachable, readProperties, supportedProperties } from './device-info.ts'

type Options = { outgoing: Outgoing; registry: Registry; log: Log }

const atOnce = 16

/** Somebody waits for the answer, for seconds: it is of no use on a disk. */
const attempts = 4

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
    const asking = { device: deviceOf(definition), signal: held.signal }
    try {
      const result =
        definition.supported === true
          ? { properties: await supportedProperties(link, asking) }
          : { results: await readProperties(link, keysOf(definition.keys), asking) }
      return { state: 'FINISHED', result }
    } catch (error) {
      if (held.stopReason === 'canceled') return { state: 'CANCELED' }
      if (isUnreachable(error)) return unreachable(linkTrouble(error))
      return { state: 'FAILED', message: linkTrouble(error).slice(0, 1_024) }
    }
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
        if (isFinal || attempt >= attempts || held.signal.aborted) throw error
        await pause(backOff.nextMs(), held.signal)
      }
    }
  }
}

function unreachable(description: string): Ending {
  return { state: 'FINISHED', result: { unreachable: true, description: description.slice(0, 1_024) } }
}

function keysOf(keys: unknown): string[] {
  return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : []
}
