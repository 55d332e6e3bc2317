import { BackOff, pause } from '@millwright/api/back-off.ts'
import { Problem } from '@millwright/api/problem.ts'
import { type Credential, JobCredentials, leftOut, lockedText } from '../job-credentials.ts'
import type { Ending, HeldJob } from '../jobs/held-job.ts'
import { JobAgent } from '../jobs/job-agent.ts'
import { LinkClient, linkTrouble } from '../link-client.ts'
import type { LinkMonitor } from '../link-monitor/link-monitor.ts'
import type { Log } from '../log.ts'
import { textOf } from '../mapping/document.ts'
import type { Outgoing } from '../outgoing.ts'
import type { Registry } from '../registry/registry.ts'
import type { DeviceConnections } from './device-connections.ts'
import {
  answerMs,
  deviceOf,
  isRefusal,
  isUnreachable,
  mayBeRefusal,
  readProperties,
  readServiceOf,
  supportedProperties,
} from './device-info.ts'

type Options = {
  outgoing: Outgoing
  registry: Registry
  monitor: LinkMonitor
  connections: DeviceConnections
  log: Log
}

const atOnce = 16

/** A caller waits some seconds for the answer, so an answer is repeated a few times and not stored on disk. */
const attempts = 4
const credentialsWithinMs = 3_000
const inspectedWithinMs = 5_000

/** Runs device-info jobs: reads properties of a device while a caller waits. */
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
    const { registry, monitor, connections } = this.#options
    const registration = registry.find(name)
    if (registration === undefined) return unreachable(`No service is registered as ${name}`)
    using link = new LinkClient(registration)
    const deadlineAtMs = performance.now() + answerMs
    // After a start of the gateway the interfaces that a link has, but did not register, are not known at once.
    await monitor.inspected(name, { withinMs: inspectedWithinMs, signal: held.signal })
    const service = readServiceOf(monitor.reportOf(name) ?? registration) ?? 'deviceInfo'
    const connection = service === 'identifiers' ? connections.find(name, textsIn(definition.addresses)) : undefined
    const ask = async (credential?: Credential): Promise<Record<string, unknown>> => {
      const device = deviceOf(definition, { service, connection, credential })
      const options = { device, service, signal: held.signal, deadlineMs: deadlineAtMs - performance.now() }
      return definition.supported === true
        ? { properties: await supportedProperties(link, options) }
        : { results: await readProperties(link, textsIn(definition.keys), options) }
    }
    try {
      const result = await ask().catch((error: unknown) => {
        if (!mayBeRefusal(error)) throw error
        return this.#askWithCredentials(held, { error, ask })
      })
      return { state: 'FINISHED', result }
    } catch (error) {
      if (held.stopReason === 'canceled') return { state: 'CANCELED' }
      if (isUnreachable(error)) return unreachable(linkTrouble(error))
      return { state: 'FAILED', message: linkTrouble(error).slice(0, 1_024) }
    }
  }

  /** Repeats a request with the credentials that the cloud has for the device, one after the other. */
  async #askWithCredentials<Result>(
    held: HeldJob,
    { error: first, ask }: { error: unknown; ask: (credential: Credential) => Promise<Result> },
  ): Promise<Result> {
    const { definition } = held.job
    const assetLinkId = textOf(definition.assetLinkId) ?? ''
    const { outgoing } = this.#options
    using credentials = new JobCredentials({ held, assetLinkId, outgoing, patienceMs: credentialsWithinMs })
    const chosen = await credentials.ask(textsIn(definition.addresses)).catch((error: unknown) => {
      throw isRefusal(first) ? error : first
    })
    const distinct = new Map([...chosen.values()].flat().map((one) => [one.instanceId, one]))
    if (distinct.size === 0 && !isRefusal(first)) throw first
    let failure: unknown
    for (const credential of distinct.values()) {
      try {
        return await ask(credential)
      } catch (error) {
        if (!mayBeRefusal(error)) throw discreet(error, credential)
        if (!isRefusal(error)) failure = discreet(error, credential)
      }
    }
    throw failure ?? new Error(lockedText(distinct.size))
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

/** The caller gets the reason for a missing answer immediately, not after the time limit. */
const tooLarge: Ending = { state: 'FAILED', message: 'What the device answers is larger than what can be handed in' }

function unreachable(description: string): Ending {
  return { state: 'FINISHED', result: { unreachable: true, description: description.slice(0, 1_024) } }
}

/** The error, unless its text contains the secret that the link got. */
function discreet(error: unknown, { secret }: Credential): unknown {
  return secret.isIn(linkTrouble(error)) ? new Error(leftOut) : error
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
