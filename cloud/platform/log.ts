import pino, { type DestinationStream, type Logger } from 'pino'

export type Log = Logger

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Names under which a secret could ever travel; their values are never printed, at any depth we log. */
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

/** Structured logs: one JSON object a line. Bodies, query strings and statement values are never handed to it. */
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

/** A terminal that was closed refuses output: then lines are lost, and the process goes on. */
function standardError(): DestinationStream {
  const destination = pino.destination({ fd: 2, sync: false })
  destination.on('error', () => {})
  return destination
}

function quoted(name: string): string {
  return `["${name}"]`
}

/** The driver's errors carry the row that failed (`detail`) and the statement's values: neither is printed. */
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
