import { Problem } from '@millwright/api/problem.ts'
import { isTransientCode } from '@millwright/api/transient.ts'

/**
 * Classifies errors of the database as transient. A transient error is not caused by the statement, and the same work
 * can succeed later. There are three kinds. In an *outage* the server does not work for any client: it is down, or out of
 * disk space, memory or connections. With a *lost worker* of a Citus cluster, only the tenants of this worker are
 * affected. With *contention* the server works, but the transaction conflicted with other transactions or took too long.
 */

/** The states of the server in an outage, by SQLSTATE or class of SQLSTATE. Operators and callers see these texts. */
const outages: readonly (readonly [sqlState: string, state: string])[] = [
  ['53100', 'out of disk space'],
  ['53200', 'out of memory'],
  ['53300', 'out of connections'],
  ['53', 'out of resources'],
  ['25006', 'read-only'],
  ['25P03', 'not reachable'],
  ['25P04', 'not reachable'],
  ['58000', 'failing to read or write its files'],
  ['58030', 'failing to read or write its files'],
  ['08', 'not reachable'],
  ['57P', 'not reachable'],
]

/** Messages of the operating system. The server has no separate SQLSTATE for them. */
const systemMessages: readonly (readonly [message: RegExp, state: string])[] = [
  [/No space left on device|Disk quota exceeded/, 'out of disk space'],
  [/Cannot allocate memory/, 'out of memory'],
  [/Too many open files/, 'out of resources'],
  [/Read-only file system/, 'read-only'],
  [/Input\/output error/, 'failing to read or write its files'],
]

/**
 * The SQLSTATEs that the server sends with a message of the operating system: insufficient privilege, internal error.
 */
const systemMessageCodes = new Set(['42501', 'XX000'])

/**
 * Codes of socket errors. `failedConnect` applies only while connecting, because file operations use the same codes.
 */
const lostSocket = new Set(['ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT'])
const failedConnect = new Set(['ENOENT', 'EACCES', 'EAGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'])

/** Errors of the driver without a code: the connection ended, or no response arrived in time. */
const driverMessages =
  /^Connection terminated|^Client has encountered a connection error|^Query read timeout|^timeout expired|^Client was closed/

const statementTimeout = '57014'
const lockTimeout = '55P03'
const lostRaces = new Set(['40001', '40P01'])

/** The messages with which a Citus coordinator reports a worker that it cannot reach, with the address of the worker. */
const lostWorkerMessages = [
  /^connection to the remote node (?:\S+@)?(\S+) failed/,
  /^could not establish any connections to the node (\S+)/,
]
/** The context of an error of a worker that shuts down or starts. */
const workerContext = /while executing command on (?:\S+@)?(\S+)/

type DriverError = Error & { code?: string; syscall?: string; where?: string }

/**
 * Returns the address of the worker of a Citus cluster that the coordinator cannot reach. Returns undefined for any other
 * error.
 */
export function lostWorkerOf(error: unknown): string | undefined {
  const cause = sourceOf(error)
  if (!(cause instanceof Error)) return undefined
  const { code = '', message, where = '' } = cause as DriverError
  if (!/^(?:08|57P)/.test(code)) return undefined
  const messages = lostWorkerMessages.map((pattern) => pattern.exec(message)?.[1])
  return messages.find((address) => address !== undefined) ?? workerContext.exec(where)?.[1]
}

const refusals = new WeakSet<Problem>()

/** Returns true if only the tenants of one worker of a cluster are affected, also if the pool refused the request. */
export function isLostWorker(error: unknown): boolean {
  return (error instanceof Problem && refusals.has(error)) || lostWorkerOf(error) !== undefined
}

/**
 * Returns the state of the server that an error shows, such as `out of disk space`. Returns undefined if the error
 * shows no outage.
 */
export function outageOf(error: unknown): string | undefined {
  const cause = sourceOf(error)
  if (!(cause instanceof Error)) return undefined
  if (lostWorkerOf(cause) !== undefined) return undefined
  const { code = '', syscall, message } = cause as DriverError
  if (lostSocket.has(code) || (failedConnect.has(code) && (syscall === 'connect' || syscall === 'getaddrinfo')))
    return 'not reachable'
  if (systemMessageCodes.has(code)) return systemMessages.find(([pattern]) => pattern.test(message))?.[1]
  if (code === '') return driverMessages.test(message) ? 'not reachable' : undefined
  return /^[0-9A-Z]{5}$/.test(code) ? outages.find(([state]) => code.startsWith(state))?.[1] : undefined
}

/** Returns true if the connection ended or did not respond, so that its state is unknown. */
export function isConnectionLost(error: unknown): boolean {
  return outageOf(error) === 'not reachable'
}

/** Returns true for a deadlock or a serialization failure. Repeating the transaction usually succeeds. */
export function isLostRace(error: unknown): boolean {
  return lostRaces.has(codeOf(error))
}

/**
 * Returns true if a statement exceeded its time limit. It may exceed the limit again, so the number of repetitions must
 * be limited.
 */
export function isStatementTimeout(error: unknown): boolean {
  return codeOf(error) === statementTimeout
}

/** Returns true if the server works, but the transaction failed because of other transactions or its own duration. */
export function isContention(error: unknown): boolean {
  return isLostRace(error) || isStatementTimeout(error) || codeOf(error) === lockTimeout
}

/**
 * Returns true if the same work can succeed later without a change. The cause is an outage, a lost worker, contention, or
 * an overloaded process.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof Problem) return isTransientCode(error.code)
  return outageOf(error) !== undefined || lostWorkerOf(error) !== undefined || isContention(error)
}

/**
 * Turns a transient error into the problem that callers receive, with a time to wait. Returns any other error
 * unchanged.
 */
export function asProblem(error: unknown): unknown {
  if (error instanceof Problem) return error
  if (isLostRace(error))
    return new Problem('overloaded', 'Concurrent requests change the same data. Retry the request', {
      retryAfter: 1,
      cause: error,
    })
  if (isStatementTimeout(error))
    return new Problem(
      'overloaded',
      'The query exceeded the time limit of the database. Request less data, or retry later',
      {
        retryAfter: 2,
        cause: error,
      },
    )
  if (codeOf(error) === lockTimeout)
    return new Problem('overloaded', 'Another request holds a lock on the same data. Retry the request', {
      retryAfter: 1,
      cause: error,
    })
  if (lostWorkerOf(error) !== undefined) return lostWorkerProblem(error)
  const state = outageOf(error)
  if (state === undefined) return error
  return new Problem('unavailable', `The database is ${state}. Retry later`, {
    retryAfter: state === 'not reachable' ? 2 : 10,
    cause: error,
  })
}

/** Returns the problem of a request whose tenant is on a worker of a cluster that is not reachable. */
export function lostWorkerProblem(cause?: unknown): Problem {
  const problem = new Problem(
    'unavailable',
    'The database server with the data of this tenant is not reachable. Other tenants are not affected. Retry later',
    { retryAfter: 5, cause },
  )
  refusals.add(problem)
  return problem
}

function codeOf(error: unknown): string {
  return (sourceOf(error) as { code?: string } | undefined)?.code ?? ''
}

/** Returns the driver error that caused a problem. Returns any other error unchanged. */
function sourceOf(error: unknown): unknown {
  return error instanceof Problem ? error.cause : error
}
