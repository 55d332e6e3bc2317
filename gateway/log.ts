import pino, { type DestinationStream, type Logger } from 'pino'

export type Log = Logger

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** The names of fields that may contain a secret. Their values are never logged. */
const secretNames = ['authorization', 'dpop', 'enrolmentToken', 'access_token', 'client_assertion', 'credentials']

/**
 * Creates a logger that writes one JSON object per line, by default to stderr. Text from devices is logged in fields,
 * never in the message.
 */
export function createLog({ level, to }: { level: LogLevel; to?: DestinationStream }): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: secretNames.flatMap((name) => [name, `*.${name}`]), censor: '***' },
    serializers: { error: describeError },
  }
  return pino(options, to ?? standardError())
}

/** Returns the stream for stderr. When the terminal is closed, the process continues without the log lines. */
function standardError(): DestinationStream {
  const destination = pino.destination({ fd: 2, sync: false })
  destination.on('error', () => {})
  return destination
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  const { code } = error as Error & { code?: string | number }
  return { name: error.name, message: error.message, ...(code === undefined ? {} : { code }) }
}
