export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

type Write = (message: string, details?: Record<string, unknown>) => void
export type Log = { debug: Write; info: Write; warn: Write; error: Write }

/** Creates a log that writes one line of JSON per entry to standard error. */
export function openLog(name: string, least: LogLevel): Log {
  const write = (level: LogLevel): Write =>
    logLevels.indexOf(level) < logLevels.indexOf(least)
      ? () => undefined
      : (message, details) => {
          const entry = { time: new Date().toISOString(), level, link: name, message, ...details }
          process.stderr.write(`${JSON.stringify(entry, readable)}\n`)
        }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

function readable(_key: string, value: unknown): unknown {
  if (value instanceof Error) return value.stack ?? value.message
  return typeof value === 'bigint' ? String(value) : value
}
