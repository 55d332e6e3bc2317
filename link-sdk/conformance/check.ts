import type { DescMethod, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js'
import { interfaceNameOnLink, linkServices, wireMethod } from '@millwright/api/link-protocol.ts'
import type { ArtefactChunkSchema } from '@millwright/api/proto/generated/artefact-update_pb.js'
import type { DiscoverRequestSchema } from '@millwright/api/proto/generated/discover_pb.js'
import { callStream, callUnary } from '../call.ts'
import type { ArtefactKind } from '../update.ts'

export type Outcome = 'pass' | 'fail' | 'skip'

/**
 * `CheckResult` is the result of a check: the sentence that describes the check, the outcome, and a hint if the check
 * failed.
 */
export type CheckResult = { sentence: string; outcome: Outcome; detail?: string; hint?: string }

export type SuiteSettings = {
  /** The address of the link as `host:port`. */
  endpoint: string
  /** The vendor prefix of the link. Without it, the suite determines the prefix automatically. */
  vendor?: string
  /** The request of the discovery that the checks use. It should find some devices, but not too many. */
  request?: MessageInitShape<typeof DiscoverRequestSchema>
  /** Credentials of a protected device, as JSON text that matches the schema of the link. */
  credentials?: string
  /** The time limit of one call. */
  withinMs?: number
  /** The address of the registry, as `host:port`, where the link should be registered. */
  registry?: string
  /** An artefact that the checks install on the first device of the discovery. Without it, no device is changed. */
  update?: { kind: ArtefactKind; content: Uint8Array }
  /** Restarts the link at the same address. Without it, the checks do not test a restart. */
  restart?: () => Promise<void>
}

/** `CheckFailure` is thrown by a failed check. */
export class CheckFailure extends Error {
  readonly hint: string | undefined

  constructor(detail: string, hint?: string) {
    super(detail)
    this.hint = hint
  }
}

/** `NotApplicable` is thrown by a check that does not apply to the link. */
export class NotApplicable extends Error {}

const { artefactUpdate, artefactTransfer } = linkServices
/** `UpdateMethod` is a method that transfers an artefact to a device. */
export type UpdateMethod = (typeof artefactUpdate | typeof artefactTransfer)['method'][
  | 'prepareUpdate'
  | 'activateUpdate']

/** `Subject` is the link under test. It sends the requests of the checks to the link. */
export class Subject implements Disposable {
  readonly settings: SuiteSettings
  readonly withinMs: number
  vendor: string
  readonly #client: Client

  constructor(settings: SuiteSettings, vendor: string) {
    this.settings = settings
    this.vendor = vendor
    this.withinMs = settings.withinMs ?? 30_000
    this.#client = new Client(settings.endpoint, credentials.createInsecure())
  }

  ask<Method extends DescMethod>(
    method: Method,
    request: MessageInitShape<Method['input']>,
  ): Promise<MessageShape<Method['output']>> {
    return callUnary(this.#client, { method: this.#wire(method), request, withinMs: this.withinMs })
  }

  stream<Method extends DescMethod>(method: Method, request: MessageInitShape<Method['input']>) {
    return callStream(this.#client, { method: this.#wire(method), request, withinMs: this.withinMs })
  }

  /** Sends all messages of a request stream, and then ends the stream. The caller reads the responses. */
  converse(method: UpdateMethod, said: readonly MessageInitShape<typeof ArtefactChunkSchema>[]) {
    const { path, requestSerialize, responseDeserialize } = this.#wire(method)
    const deadline = Date.now() + this.withinMs
    const stream = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, { deadline })
    for (const message of said) stream.write(message)
    stream.end()
    return stream
  }

  /** Returns the status of a call. */
  async statusOf<Method extends DescMethod>(
    method: Method,
    request: MessageInitShape<Method['input']>,
  ): Promise<number> {
    const failure = await this.ask(method, request).then(
      () => undefined,
      (error: unknown) => error,
    )
    return failure === undefined ? status.OK : codeOf(failure)
  }

  [Symbol.dispose](): void {
    this.#client.close()
  }

  #wire<Method extends DescMethod>(method: Method) {
    return wireMethod(method, interfaceNameOnLink(method.parent, this.vendor))
  }
}

export function codeOf(error: unknown): number {
  return isServiceError(error) ? error.code : status.UNKNOWN
}

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number'
}

export function nameOf(code: number): string {
  return status[code] ?? String(code)
}

export function expect(holds: boolean, detail: string, hint?: string): asserts holds {
  if (!holds) throw new CheckFailure(detail, hint)
}

export type Check = { sentence: string; hint: string; run: (subject: Subject) => Promise<unknown> }

/** Runs a check. An error becomes the outcome of this check, so that the suite continues with the next check. */
export async function runCheck({ sentence, hint, run }: Check, subject: Subject): Promise<CheckResult> {
  try {
    await run(subject)
    return { sentence, outcome: 'pass' }
  } catch (error) {
    if (error instanceof NotApplicable) return { sentence, outcome: 'skip', detail: error.message }
    const detail = isServiceError(error) ? `${nameOf(error.code)}: ${error.details}` : reasonOf(error)
    return { sentence, outcome: 'fail', detail, hint: error instanceof CheckFailure ? (error.hint ?? hint) : hint }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
