/** `WebRequest` is one line of the request log of a web session. */
export type WebRequest = {
  timestamp: string
  method: string
  path: string
  status: number | undefined
  bytes: number | undefined
  durationMs: number | undefined
}

/** Reads a request log. Lines that are not valid are left out. */
export function parseRequestLog(text: string): WebRequest[] {
  return text.split('\n').flatMap((line) => requestOf(line) ?? [])
}

function requestOf(line: string): WebRequest | undefined {
  try {
    const { time, method, path, status, bytes, ms } = JSON.parse(line) as Record<string, unknown>
    if (typeof time !== 'string' || typeof method !== 'string' || typeof path !== 'string') return undefined
    return {
      timestamp: time,
      method,
      path,
      status: numberOf(status),
      bytes: numberOf(bytes),
      durationMs: numberOf(ms),
    }
  } catch {
    return undefined
  }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
