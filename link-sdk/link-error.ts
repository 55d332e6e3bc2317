import { Code } from '@millwright/api/proto/generated/code_pb.js'

export type CodeName = keyof typeof Code

/**
 * `LinkError` is an error of a link. If it is thrown, it ends the call with its status. If it is yielded or returned
 * for one device or property, it applies only to that device or property.
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

/**
 * The nearest gRPC code for each code that does not exist in gRPC. Such codes are valid for single devices only, so a
 * failed call uses the nearest code instead.
 */
const nearest: Partial<Record<CodeName, CodeName>> = {
  BUSY: 'RESOURCE_EXHAUSTED',
  INVALID_DATAPOINT_ID: 'INVALID_ARGUMENT',
  INVALID_SUBSCRIPTION_ID: 'INVALID_ARGUMENT',
  PAYLOAD_DESERIALISATION_ISSUE: 'INVALID_ARGUMENT',
  PAYLOAD_SERIALISATION_ISSUE: 'INTERNAL',
}

/** `Status` is the status with which a gRPC call ends. */
export type Status = { code: number; details: string }

export function statusOf(error: unknown): Status {
  const { code, message } = linkErrorOf(error)
  return { code: Code[nearest[code] ?? code], details: message }
}

/** Converts any thrown value to a `LinkError`. A value that is not a `LinkError` becomes INTERNAL. */
export function linkErrorOf(error: unknown): LinkError {
  if (error instanceof LinkError) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new LinkError('INTERNAL', `The link failed: ${reason}`, { cause: error })
}
