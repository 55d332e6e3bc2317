/**
 * The reasons why a device could not be read.
 * - `silent`: no answer in time
 * - `refused`: the port is closed, or the network is not reachable
 * - `faulty`: the answers violate the protocol
 * - `rejected`: an agent of version 3 rejected the user or a password
 * - `status`: the agent answered with an error status
 * - `limit`: the device exceeded a limit of rows, bytes or time
 */
type SnmpErrorKind = 'silent' | 'refused' | 'faulty' | 'rejected' | 'status' | 'limit'

type Details = { status?: number; isTimeout?: boolean }

/** `SnmpError` is a failed read of a device. Its message continues a sentence that starts with the device. */
export class SnmpError extends Error {
  readonly kind: SnmpErrorKind
  /** The error status of the answer, as RFC 3416 numbers it. It is set for the kind `status`. */
  readonly status: number
  /** True when the time for an answer has passed, so that the request can be repeated. */
  readonly isTimeout: boolean

  constructor(kind: SnmpErrorKind, message: string, { status = 0, isTimeout = false }: Details = {}) {
    super(message)
    this.name = 'SnmpError'
    this.kind = kind
    this.status = status
    this.isTimeout = isTimeout
  }
}

/** Error statuses of RFC 3416. */
export const errorStatus = { tooBig: 1, noSuchName: 2, authorizationError: 16 } as const
