import { Code } from '@millwright/api/proto/generated/code_pb.js'

export type CodeName = keyof typeof Code

/**
 * What a link says when something does not work. Thrown, it ends the call with that status; yielded or returned for one
 * device or one property, it tells about that one only.
 */
export class LinkError extends Error {
  readonly code: CodeName

  constructor(code: CodeName, description: string, options?: ErrorOptions) {
    super(description, options)
    this.name = 'LinkError'
    this.code = code
  }

  get number(): number {
    return Code[this.code]
  }
}

/** Codes beyond those of gRPC exist for single devices only; a call that fails with one of them uses the nearest. */
const nearest: Partial<Record<CodeName, CodeName>> = {
  BUSY: 'RESOURCE_EXHAUSTED',
  INVALID_DATAPOINT_ID: 'INVALID_ARGUMENT',
  INVALID_SUBSCRIPTION_ID: 'INVALID_ARGUMENT',
  PAYLOAD_DESERIALISATION_ISSUE: 'INVALID_ARGUMENT',
  PAYLOAD_SERIALISATION_ISSUE: 'INTERNAL',
}

/** What ends a gRPC call. */
export type Status = { code: number; details: string }

export function statusOf(error: unknown): Status {
  const { code, message } = linkErrorOf(error)
  return { code: Code[nearest[code] ?? code], details: message }
}

/** Whatever was thrown, as a LinkError; what is none is a fault of the link. */
export function linkErrorOf(error: unknown): LinkError {
  if (error instanceof LinkError) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new LinkError('INTERNAL', `The link failed: ${reason}`, { cause: error })
}
