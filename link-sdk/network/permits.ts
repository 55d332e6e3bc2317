import type { PermitRequest, RefusalReason } from '@millwright/api/scan-budget.ts'
import { LinkError } from '../link-error.ts'

/** `Permit` allows a link to send what it requested. Disposing it ends the connection, if the permit was for one. */
export type Permit = Disposable

/**
 * `Permits` gives permits to a link. A link that sends packets takes a permit before each datagram, connection and
 * request, also if a library sends them.
 */
export type Permits = {
  /**
   * Waits until the traffic is within the budget. Throws a `PermitRefusedError` if it is not allowed, and when the call
   * was canceled.
   */
  take: (request: PermitRequest) => Promise<Permit>
}

/** `PermitRefusedError` means that the traffic is not allowed. The link must not send it, and must not retry it. */
export class PermitRefusedError extends LinkError {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, description: string) {
    super(reason === 'canceled' ? 'ABORTED' : 'PERMISSION_DENIED', description)
    this.name = 'PermitRefusedError'
    this.reason = reason
  }
}

/**
 * Takes a permit, unless the signal is aborted before. Then throws the reason of the signal, and a permit that is given
 * later ends immediately.
 */
export async function takePermit(permits: Permits, request: PermitRequest, signal: AbortSignal): Promise<Permit> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<Permit>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  permits.take(request).then((permit) => {
    if (signal.aborted) permit[Symbol.dispose]()
    else resolve(permit)
  }, reject)
  return promise.finally(() => signal.removeEventListener('abort', abort))
}
