import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { CredentialTestOutcome } from '@millwright/api/credential-test.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import { type Credential, JobCredentials, protectedText, redactedText } from '../job-credentials.ts'
import { JobAgent } from '../jobs/job-agent.ts'
import type { JobOutcome, LeasedJob } from '../jobs/leased-job.ts'
import { LinkClient, linkErrorText } from '../link-client.ts'
import type { LinkMonitor } from '../link-monitor/link-monitor.ts'
import type { Log } from '../log.ts'
import { textOf } from '../mapping/document.ts'
import type { Registry } from '../registry/registry.ts'
import type { DeviceConnections } from './device-connections.ts'
import {
  answerMs,
  type DeviceAccess,
  deviceOf,
  isRefusal,
  isUnreachable,
  mayBeRefusal,
  readDevice,
  readProperties,
  readServiceOf,
  supportedProperties,
  textsIn,
} from './device-info.ts'

type Options = {
  cloud: CloudConnection
  registry: Registry
  monitor: LinkMonitor
  connections: DeviceConnections
  log: Log
}

const concurrentJobs = 16

/**
 * The number of attempts to send a result. The result is not stored on disk, because the caller waits only a few
 * seconds for it.
 */
const attempts = 4
const credentialsWithinMs = 3_000
const inspectedWithinMs = 5_000
/** The time limits of a test of credentials: with the credentials, and then without credentials. */
const testedWithinMs = 10_000
const openWithinMs = 4_000

/** `ProtectedError` is thrown when a device accepted none of the credentials, or when there were none. */
class ProtectedError extends Error {}

type CredentialTestResult = { outcome: CredentialTestOutcome; message?: string }

/**
 * `DeviceInfoAgent` runs device-info jobs. Such a job reads properties of a device, or tests credentials, while a caller
 * waits.
 */
export class DeviceInfoAgent {
  readonly #options: Options
  readonly #agent: JobAgent<JobOutcome>

  constructor(options: Options) {
    this.#options = options
    const { cloud, log } = options
    this.#agent = new JobAgent({
      workflows: ['device-info'],
      concurrentJobs,
      cloud,
      log,
      ready: () => Promise.resolve(),
      work: (leased) => this.#work(leased),
      end: (leased, ending) => this.#end(leased, ending),
    })
  }

  start(): void {
    this.#agent.start()
  }

  stop(): Promise<void> {
    return this.#agent.stop()
  }

  async #work(leased: LeasedJob): Promise<JobOutcome> {
    const { definition, status } = leased.job
    if (status.state === 'CANCELING') return { state: 'CANCELED' }
    const name = textOf(definition.assetLinkId) ?? ''
    const { registry, monitor, connections } = this.#options
    const registration = registry.find(name)
    if (registration === undefined)
      return unreachable(`Asset link ${name} is not registered with the gateway. Start the asset link`)
    using link = new LinkClient(registration)
    const deadlineAtMs = performance.now() + answerMs
    // After a start of the gateway, the first inspection must end before the interfaces are complete, because a link
    // may have interfaces that it did not register.
    await monitor.inspected(name, { withinMs: inspectedWithinMs, signal: leased.signal })
    const service = readServiceOf(monitor.reportOf(name) ?? registration) ?? 'deviceInfo'
    const destination = (access?: DeviceAccess) => {
      const addresses = access === undefined ? textsIn(definition.addresses) : [access.address]
      const place = { addresses, identifiers: definition.assetIdentifiers }
      const found = connections.find(name, place)
      // A test of credentials names no identifiers, so the device is found by its address.
      const isByAddress = service === 'identifiers' || definition.credentialTest === true
      const connection = found ?? (isByAddress ? connections.findNearest(name, addresses) : undefined)
      return deviceOf(definition, { service, connection, access })
    }
    const ask = async (access?: DeviceAccess): Promise<Record<string, unknown>> => {
      const device = destination(access)
      const options = { device, service, signal: leased.signal, deadlineMs: deadlineAtMs - performance.now() }
      return definition.supported === true
        ? { properties: await supportedProperties(link, options) }
        : { results: await readProperties(link, textsIn(definition.keys), options) }
    }
    const read = (deadlineMs: number, access?: DeviceAccess) =>
      readDevice(link, { device: destination(access), service, signal: leased.signal, deadlineMs })
    try {
      if (definition.credentialTest === true)
        return { state: 'FINISHED', result: { credentialTest: await this.#testCredential(leased, read) } }
      const result = await ask().catch((error: unknown) => {
        if (!mayBeRefusal(error)) throw error
        return this.#askWithCredentials(leased, { error, ask })
      })
      return { state: 'FINISHED', result }
    } catch (error) {
      if (leased.stopReason === 'canceled') return { state: 'CANCELED' }
      if (isUnreachable(error)) return unreachable(linkErrorText(error))
      const message = linkErrorText(error).slice(0, 1_024)
      return { state: 'FAILED', message, ...(error instanceof ProtectedError && { result: { protected: true } }) }
    }
  }

  /**
   * Repeats a failed request with each of the credentials that the cloud selects for the addresses of the device, until
   * the device accepts one of them. Credentials are sent only to the address for which they were selected.
   */
  async #askWithCredentials<Result>(
    leased: LeasedJob,
    { error: first, ask }: { error: unknown; ask: (access: DeviceAccess) => Promise<Result> },
  ): Promise<Result> {
    const { definition } = leased.job
    const assetLinkId = textOf(definition.assetLinkId) ?? ''
    const { cloud } = this.#options
    using credentials = new JobCredentials({ leased, assetLinkId, cloud, timeoutMs: credentialsWithinMs })
    const chosen = await credentials.ask(textsIn(definition.addresses)).catch((error: unknown) => {
      throw isRefusal(first) ? error : first
    })
    const all = [...chosen].flatMap(([address, some]) => some.map((credential) => ({ address, credential })))
    if (all.length === 0 && !isRefusal(first)) throw first
    let failure: unknown
    for (const access of all) {
      try {
        return await ask(access)
      } catch (error) {
        if (!mayBeRefusal(error)) throw discreet(error, access.credential)
        if (!isRefusal(error)) failure = discreet(error, access.credential)
      }
    }
    throw failure ?? new ProtectedError(protectedText(new Set(all.map(({ credential }) => credential.instanceId)).size))
  }

  /**
   * Reads the device with the credentials of a test, once. Then reads the device without credentials, because a device that
   * needs none accepts any.
   */
  async #testCredential(
    leased: LeasedJob,
    read: (deadlineMs: number, access?: DeviceAccess) => Promise<unknown>,
  ): Promise<CredentialTestResult> {
    const { definition } = leased.job
    const [address = ''] = textsIn(definition.addresses)
    const assetLinkId = textOf(definition.assetLinkId) ?? ''
    const { cloud } = this.#options
    using credentials = new JobCredentials({ leased, assetLinkId, cloud, timeoutMs: credentialsWithinMs })
    const [credential] = (await credentials.ask([address])).get(address) ?? []
    if (credential === undefined) return { outcome: 'not_applicable' }
    try {
      await read(testedWithinMs, { address, credential })
    } catch (error) {
      if (leased.signal.aborted) throw error
      if (isRefusal(error)) return { outcome: 'rejected' }
      return { outcome: 'unreachable', message: linkErrorText(discreet(error, credential)).slice(0, 1_024) }
    }
    const isOpen = await read(openWithinMs).then(
      () => true,
      () => false,
    )
    return { outcome: isOpen ? 'not_required' : 'accepted' }
  }

  async #end(leased: LeasedJob, { state, message, result }: JobOutcome): Promise<void> {
    const backOff = new BackOff({ firstMs: 200 })
    const data = {
      jobId: leased.job.id,
      state,
      ...(message === undefined ? {} : { message }),
      ...(result === undefined ? {} : { result }),
    }
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#options.cloud.gatekeeper.endJob({ params: { id: leased.lease }, body: { data } })
        return
      } catch (error) {
        const isFinal = error instanceof Problem && error.status < 500
        if (error instanceof Problem && error.code === 'body_too_large' && result !== undefined)
          return this.#end(leased, tooLarge)
        if (isFinal || attempt >= attempts || leased.signal.aborted) throw error
        await pause(backOff.nextMs(), leased.signal)
      }
    }
  }
}

/**
 * The outcome for a result that is too large. It is reported immediately, so that the caller does not wait until the
 * time limit.
 */
const tooLarge: JobOutcome = {
  state: 'FAILED',
  message: 'The response of the device exceeds the size limit of the platform',
}

function unreachable(description: string): JobOutcome {
  return { state: 'FINISHED', result: { unreachable: true, description: description.slice(0, 1_024) } }
}

/**
 * Returns the error unchanged, or an error with a replacement text if its text contains the secret that the link
 * received.
 */
function discreet(error: unknown, { secret }: Credential): unknown {
  return secret.isIn(linkErrorText(error)) ? new Error(redactedText) : error
}
