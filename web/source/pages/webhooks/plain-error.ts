import { filterErrorStart, statusErrorStart } from '@millwright/api/event-subscriptions.ts'

/** The causes that the console names in words. For other errors, it shows the text of the platform. */
export type ErrorCause =
  | 'filterInvalid'
  | 'signInRefused'
  | 'addressNotFound'
  | 'tooManyRequests'
  | 'temporarilyUnavailable'
  | 'receiverError'
  | 'eventRefused'

/** Returns the cause of the last error of a subscription, and the HTTP status. Returns undefined for other errors. */
export function causeOf(lastError: string): { cause: ErrorCause; status?: number } | undefined {
  if (lastError.startsWith(filterErrorStart)) return { cause: 'filterInvalid' }
  if (!lastError.startsWith(statusErrorStart)) return undefined
  const status = Number.parseInt(lastError.slice(statusErrorStart.length), 10)
  const cause = causeOfStatus(status)
  return cause === undefined ? undefined : { cause, status }
}

/** What a user checks after a failed delivery. */
export type ReceiverCheck =
  | 'checkSignIn'
  | 'checkPath'
  | 'checkLimit'
  | 'checkService'
  | 'checkLog'
  | 'checkEvents'
  | 'checkAgain'
  | 'checkAddress'

const checks: Readonly<Record<Exclude<ErrorCause, 'filterInvalid'>, ReceiverCheck>> = {
  signInRefused: 'checkSignIn',
  addressNotFound: 'checkPath',
  tooManyRequests: 'checkLimit',
  temporarilyUnavailable: 'checkService',
  receiverError: 'checkLog',
  eventRefused: 'checkEvents',
}

/** Returns what to check after an error. An error of the connection is over if the host works for others. */
export function checkFor(lastError: string | null, isHostWorking: boolean): ReceiverCheck {
  const cause = lastError === null ? undefined : causeOf(lastError)?.cause
  if (cause !== undefined && cause !== 'filterInvalid') return checks[cause]
  if (lastError?.startsWith(statusErrorStart)) return 'checkPath'
  return isHostWorking ? 'checkAgain' : 'checkAddress'
}

/** An HTTP status with which one path of a host responds, while another subscription delivers events to this host. */
export type PathError = { cause: Exclude<ErrorCause, 'filterInvalid'>; status: number; path: string }

/**
 * Returns the error of the path of a subscription. Returns undefined without an HTTP status, and if the working subscription sends
 * to the same path, so that the path is not the cause.
 */
export function pathErrorOf(lastError: string | null, url: string, workingUrl: string): PathError | undefined {
  const { cause, status } = (lastError === null ? undefined : causeOf(lastError)) ?? {}
  const path = new URL(url).pathname
  if (cause === undefined || cause === 'filterInvalid' || status === undefined) return undefined
  return path === new URL(workingUrl).pathname ? undefined : { cause, status, path }
}

function causeOfStatus(status: number): ErrorCause | undefined {
  if (status === 401 || status === 403) return 'signInRefused'
  if (status === 404) return 'addressNotFound'
  if (status === 429) return 'tooManyRequests'
  if (status === 502 || status === 503 || status === 504) return 'temporarilyUnavailable'
  if (status >= 500) return 'receiverError'
  return status >= 400 ? 'eventRefused' : undefined
}
