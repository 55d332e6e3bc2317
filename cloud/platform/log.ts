import pino, { type DestinationStream, type Logger } from 'pino'

export type Log = Logger

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/**
 * The names of fields that may contain a secret. Their values are not logged, at the top level of a log line and in
 * the two levels below it.
 */
const secretNames = [
  'password',
  'currentPassword',
  'newPassword',
  'clientSecret',
  'client_secret',
  'access_token',
  'refresh_token',
  'code_verifier',
  'authorization',
  'cookie',
  'set-cookie',
  'masterKey',
  'values',
]

/**
 * Creates a structured log with one JSON object per line. Bodies, query strings and statement values are never logged.
 */
export function createLog({ level, to }: { level: LogLevel; to?: DestinationStream }): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: secretNames.flatMap((name) => [quoted(name), `*${quoted(name)}`, `*.*${quoted(name)}`]),
      censor: '***',
    },
    serializers: { error: describeError },
  }
  return pino(options, to ?? standardError())
}

/** Returns the standard error stream. If the terminal is closed, lines are lost and the process continues. */
function standardError(): DestinationStream {
  const destination = pino.destination({ fd: 2, sync: false })
  destination.on('error', () => {})
  return destination
}

function quoted(name: string): string {
  return `["${name}"]`
}

/**
 * Returns the parts of an error that can be logged. Errors of the driver also contain the row that failed (`detail`)
 * and the values of the statement. Neither is logged.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  const { code, constraint, table } = error as Error & { code?: string; constraint?: string; table?: string }
  return {
    name: error.name,
    message: error.message,
    code,
    constraint,
    table,
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  }
}
