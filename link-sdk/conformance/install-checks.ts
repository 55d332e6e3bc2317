import { setTimeout as delay } from 'node:timers/promises'
import { status } from '@grpc/grpc-js'
import { linkServices } from '@millwright/api/link-protocol.ts'
import type { ArtefactKind } from '../update.ts'
import { type Check, expect, NotApplicable, nameOf, type Subject } from './check.ts'
import { type Findings, runDiscovery } from './discover-checks.ts'
import { UpdateClient, type UpdateOptions, type UpdateResult } from './update-client.ts'
import { namedDevices, updateServiceOf } from './update-target.ts'

type FindingsOf = (subject: Subject) => Promise<Findings>

/** The size of the chunks in which the checks send an artefact. */
const chunkBytes = 64 * 1024
/** The time in which a link must answer a second update, while it waits for the content of the first one. */
const answerMs = 5_000
const pollMs = 100

const kinds = {
  firmware: 'AT_FIRMWARE',
  software: 'AT_SOFTWARE',
  backup: 'AT_BACKUP',
  configuration: 'AT_CONFIGURATION',
  logfile: 'AT_LOGFILE',
} as const satisfies Record<ArtefactKind, string>

/**
 * Returns the checks that install the artefact of the settings on the first device of the discovery. They run in this
 * order. The first job transfers the artefact; the following checks use its result, activate another job, and cancel it.
 */
export function installChecks(findingsOf: FindingsOf): readonly Check[] {
  const first: { jobId: string; result?: Promise<UpdateResult> } = { jobId: newJob() }
  const firstTransfer = async (target: InstallTarget) => {
    first.result ??= target.prepare(first.jobId)
    return first.result
  }
  const check = (sentence: string, hint: string, run: (target: InstallTarget) => Promise<void>): Check => ({
    sentence,
    hint,
    async run(subject) {
      using target = await InstallTarget.of(subject, await findingsOf(subject))
      await run(target)
    },
  })
  return [
    check(
      'The link transfers an artefact to a device',
      'PrepareUpdate requests the content, and ends with OK and a status AOS_OK.',
      async (target) => expectSuccess('PrepareUpdate', await firstTransfer(target)),
    ),
    check(
      'The link requests the content of an artefact exactly once',
      'Send one AORT_ARTEFACT_TRANSMISSION in PrepareUpdate. The content follows until the caller closes its side.',
      async (target) => {
        const { requests } = await firstTransfer(target)
        expect(requests === 1, `PrepareUpdate requested the content ${requests} times.`)
      },
    ),
    check(
      'Every status of a transfer has a phase of the transfer',
      'Use AOP_PREPARE, AOP_DOWNLOAD or AOP_INSTALLATION in PrepareUpdate.',
      async (target) => {
        const { statuses } = await firstTransfer(target)
        const other = statuses.find(({ phase }) => !preparePhases.includes(phase))
        expect(other === undefined, `A status of PrepareUpdate has the phase ${other?.phase}.`)
      },
    ),
    check(
      'The progress of a transfer is a percentage that does not decrease within a phase',
      'Send progress from 0 to 100, as a whole number.',
      async (target) => {
        const highest = new Map<string, number>()
        for (const { phase, progress } of (await firstTransfer(target)).statuses) {
          expect(progress <= 100, `The progress is ${progress} %.`)
          const before = highest.get(phase) ?? 0
          expect(progress >= before, `The progress of ${phase} decreases from ${before} % to ${progress} %.`)
          highest.set(phase, progress)
        }
      },
    ),
    check(
      'The link does not activate an update of another job',
      'ActivateUpdate activates only what the same job has prepared. Otherwise, return FAILED_PRECONDITION.',
      async (target) => {
        await firstTransfer(target)
        expectRefusal('ActivateUpdate of another job', await target.activate(newJob()))
      },
    ),
    check(
      'The link cancels a prepared update',
      'CancelUpdate sends a status with AOP_CANCELLATION. Afterwards, ActivateUpdate returns FAILED_PRECONDITION.',
      async (target) => {
        await firstTransfer(target)
        const canceled = await target.cancel(first.jobId)
        expectSuccess('CancelUpdate', canceled)
        expect(
          canceled.statuses.every(({ phase }) => phase === 'AOP_CANCELLATION'),
          'A status of CancelUpdate has another phase than AOP_CANCELLATION.',
        )
        expectRefusal('ActivateUpdate of a canceled job', await target.activate(first.jobId))
      },
    ),
    check(
      'The link rejects an empty artefact, and the transfer ends with the error',
      'Check the artefact before the update is prepared: send an error such as AOS_ERROR_INCOMPATIBLE, and end the call.',
      async (target) => {
        const jobId = newJob()
        const result = await target.prepare(jobId, { content: [] })
        await target.cancel(jobId)
        expectRefusal('PrepareUpdate without content', result)
        const error = result.statuses.findIndex(({ state }) => state !== 'AOS_OK')
        expect(error === -1 || error === result.statuses.length - 1, 'More statuses follow the status with the error.')
      },
    ),
    check(
      'The link runs one update of a device at a time',
      'Return RESOURCE_EXHAUSTED, or wait, while another update of the same device is running.',
      async (target) => {
        const second = await target.duringTransfer(() => target.untilRequest(newJob(), target.device))
        expect(second !== 'requested', 'The link requests content for two updates of one device at the same time.')
        expect(second !== status.OK, 'The second update of the device ended with OK.')
      },
    ),
    check(
      'The link updates another device at the same time, or reports that it is busy',
      'Run updates of different devices independently, or return RESOURCE_EXHAUSTED.',
      async (target) => {
        const other = target.otherDevice
        if (other === undefined) throw new NotApplicable('Only one device was found.')
        const second = await target.duringTransfer(() => target.untilRequest(newJob(), other))
        expect(second !== 'waiting', `The update of another device does not start within ${answerMs / 1_000} s.`)
        if (typeof second === 'string') return
        expect(second === status.RESOURCE_EXHAUSTED, `The update of another device returned ${nameOf(second)}.`)
      },
    ),
    check(
      'The link can repeat a transfer that the caller canceled',
      'Remove an incomplete artefact when the call is canceled; do not stay busy.',
      async (target) => {
        await target.duringTransfer(async () => undefined)
        const jobId = newJob()
        expectSuccess('The repeated PrepareUpdate', await target.prepareWhenFree(jobId))
        await target.cancel(jobId)
      },
    ),
    check(
      'A prepared update can be activated after a restart of the link',
      'Store prepared updates in a file.',
      async (target) => {
        const { restart } = target.subject.settings
        if (restart === undefined) throw new NotApplicable('The checks cannot restart the link.')
        const jobId = newJob()
        expectSuccess('PrepareUpdate', await target.prepareWhenFree(jobId))
        await restart()
        await target.untilFound()
        expectSuccess('ActivateUpdate after a restart', await target.activate(jobId))
        await target.untilFound()
      },
    ),
    check(
      'The link activates a prepared update',
      'ActivateUpdate sends statuses with AOP_ACTIVATION, and ends with OK when the device runs the artefact.',
      async (target) => {
        first.jobId = newJob()
        expectSuccess('PrepareUpdate', await target.prepareWhenFree(first.jobId))
        const activated = await target.activate(first.jobId)
        expectSuccess('ActivateUpdate', activated)
        const other = activated.statuses.find(({ phase }) => phase !== 'AOP_ACTIVATION')
        expect(other === undefined, `A status of ActivateUpdate has the phase ${other?.phase}.`)
      },
    ),
    check(
      'A discovery finds the device after the activation',
      'The device must have the same metadata or address after an update.',
      (target) => target.untilFound(),
    ),
    check(
      'The link does not activate an update twice',
      'Return FAILED_PRECONDITION for a second ActivateUpdate of one job, because a gateway can repeat a call.',
      async (target) => expectRefusal('A second ActivateUpdate', await target.activate(first.jobId)),
    ),
  ]
}

const preparePhases = ['AOP_PREPARE', 'AOP_DOWNLOAD', 'AOP_INSTALLATION']

function newJob(): string {
  return `conformance-${crypto.randomUUID()}`
}

function expectSuccess(call: string, { code, details, statuses }: UpdateResult): void {
  expect(code === status.OK, `${call} returned ${nameOf(code)}: ${details}`)
  const last = statuses.at(-1)
  expect(last !== undefined, `${call} sent no status.`)
  expect(last.state === 'AOS_OK', `${call} ended with ${last.state}: ${last.message}`)
}

function expectRefusal(call: string, { code, statuses }: UpdateResult): void {
  const isRefused = code !== status.OK || statuses.some(({ state }) => state !== 'AOS_OK')
  expect(isRefused, `${call} succeeded.`)
}

/** `InstallTarget` is the device on which the checks install the artefact. */
class InstallTarget implements Disposable {
  readonly subject: Subject
  readonly device: Uint8Array
  readonly otherDevice: Uint8Array | undefined
  readonly #client: UpdateClient
  readonly #options: Pick<UpdateOptions, 'kind' | 'content' | 'deviceCredentials'>

  constructor(subject: Subject, { isTransfer, devices }: { isTransfer: boolean; devices: Uint8Array[] }) {
    const { update, endpoint, credentials } = subject.settings
    const [device, otherDevice] = devices
    if (update === undefined) throw new NotApplicable('No artefact was passed, so no device is changed.')
    if (device === undefined) throw new NotApplicable('No device was found.')
    this.subject = subject
    this.device = device
    this.otherDevice = otherDevice
    this.#client = new UpdateClient({ endpoint, vendor: subject.vendor, isTransfer, withinMs: subject.withinMs })
    this.#options = {
      kind: kinds[update.kind],
      content: chunksOf(update.content),
      ...(credentials === undefined ? {} : { deviceCredentials: credentialsOf(credentials) }),
    }
  }

  static async of(subject: Subject, { devices }: Findings): Promise<InstallTarget> {
    const service = await updateServiceOf(subject)
    const isTransfer = service.typeName === linkServices.artefactTransfer.typeName
    return new InstallTarget(subject, { isTransfer, devices: namedDevices(devices) })
  }

  prepare(jobId: string, options: Partial<UpdateOptions> = {}): Promise<UpdateResult> {
    return this.#client.prepare({ jobId, device: this.device, ...this.#options, ...options })
  }

  activate(jobId: string): Promise<UpdateResult> {
    return this.#client.activate({ jobId, device: this.device, ...this.#options, content: [] })
  }

  cancel(jobId: string): Promise<UpdateResult> {
    return this.#client.cancel({ jobId, device: this.device, ...this.#options })
  }

  /** Prepares an update, and repeats this while the link is busy with a transfer that was canceled. */
  async prepareWhenFree(jobId: string): Promise<UpdateResult> {
    const givenUpAt = performance.now() + this.subject.withinMs
    for (;;) {
      const result = await this.prepare(jobId)
      if (result.code !== status.RESOURCE_EXHAUSTED || performance.now() > givenUpAt) return result
      await delay(pollMs)
    }
  }

  /**
   * Runs `work` while the link waits for the content of a transfer. Then the transfer is canceled. The transfer is started
   * again while the link is busy with a transfer that was canceled before.
   */
  async duringTransfer<Result>(work: () => Promise<Result>): Promise<Result> {
    const givenUpAt = performance.now() + this.subject.withinMs
    for (;;) {
      const canceling = new AbortController()
      const requested = Promise.withResolvers<undefined>()
      const onRequest = () => {
        requested.resolve(undefined)
        return new Promise<void>(() => undefined)
      }
      const jobId = newJob()
      const transfer = this.prepare(jobId, { onRequest, signal: canceling.signal })
      try {
        const early = await Promise.race([requested.promise, transfer])
        if (early === undefined) return await work()
        const { code, details } = early
        expect(
          code === status.RESOURCE_EXHAUSTED && performance.now() < givenUpAt,
          `PrepareUpdate returned ${nameOf(code)} before it requested the content: ${details}`,
        )
      } finally {
        canceling.abort()
        await transfer
        await this.cancel(jobId)
      }
      await delay(pollMs)
    }
  }

  /**
   * Starts an update, and cancels it when the link requests its content, or does not answer in time. Returns the code of
   * the call if it ended before. `refused` is a status with an error.
   */
  async untilRequest(jobId: string, device: Uint8Array): Promise<'requested' | 'refused' | 'waiting' | number> {
    const canceling = new AbortController()
    const requested = Promise.withResolvers<'requested'>()
    const onRequest = () => {
      requested.resolve('requested')
      return new Promise<void>(() => undefined)
    }
    const transfer = this.prepare(jobId, { device, onRequest, signal: canceling.signal })
    const outcome = await Promise.race([
      requested.promise,
      transfer.then(({ code, statuses }) =>
        statuses.some(({ state }) => state !== 'AOS_OK') ? ('refused' as const) : code,
      ),
      delay(answerMs, 'waiting' as const, { signal: canceling.signal }).catch(() => 'waiting' as const),
    ])
    canceling.abort()
    await transfer
    return outcome
  }

  /** Waits until a discovery finds the device. */
  async untilFound(): Promise<void> {
    const givenUpAt = performance.now() + this.subject.withinMs
    for (;;) {
      const found = await runDiscovery(this.subject).catch(() => undefined)
      const own = Buffer.from(this.device)
      if (found !== undefined && namedDevices(found.devices).some((device) => own.equals(device))) return
      expect(performance.now() < givenUpAt, 'The device is no longer found.')
      await delay(pollMs)
    }
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]()
  }
}

function chunksOf(content: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.ceil(content.length / chunkBytes) }, (_, index) =>
    content.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  )
}

/** Returns the credentials of the settings as JSON bytes and, if they have these fields, as user and password. */
function credentialsOf(text: string): NonNullable<UpdateOptions['deviceCredentials']> {
  const { username, password } = JSON.parse(text) as Record<string, unknown>
  return {
    credentials: Buffer.from(text),
    ...(typeof username === 'string' ? { username } : {}),
    ...(typeof password === 'string' ? { password } : {}),
  }
}
