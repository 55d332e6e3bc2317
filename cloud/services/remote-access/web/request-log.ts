import { webLimits } from './web-limits.ts'

type LoggedRequest = {
  /** The start of the request, in milliseconds since 1970. */
  startedAt: number
  method: string
  url: string
  status: number
  /** The bytes of the response's body. */
  bytes: number
}

/** Returns the line of a request in the request log. Values of the query can be secrets, so only their names are logged. */
export function requestLogLine({ startedAt, method, url, status, bytes }: LoggedRequest): string {
  return JSON.stringify({
    time: new Date(startedAt).toISOString(),
    method,
    path: withoutQueryValues(url).slice(0, webLimits.loggedPath),
    status,
    bytes,
    ms: Math.max(0, Date.now() - startedAt),
  })
}

export function withoutQueryValues(url: string): string {
  const start = url.indexOf('?')
  if (start < 0) return url
  const names = url
    .slice(start + 1)
    .split('&')
    .filter((part) => part.includes('='))
    .map((part) => `${part.slice(0, part.indexOf('='))}=`)
  return `${url.slice(0, start)}${names.length === 0 ? '' : `?${names.join('&')}`}`
}
