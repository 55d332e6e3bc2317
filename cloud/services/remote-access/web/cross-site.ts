import type { IncomingHttpHeaders } from 'node:http'

type CrossSiteRequest = { method: string; headers: IncomingHttpHeaders; isUpgrade: boolean }

/**
 * Returns why a request is refused because a page of another origin may have sent it. Returns undefined for a request
 * of the session's own pages and for a top-level navigation. `origins` are the forms of the session's origin.
 *
 * Browsers send the header `Sec-Fetch-Site` only over https and to localhost. Without this header, the header `Origin`
 * and the attribute `SameSite` of the cookie protect the session.
 */
export function crossSiteRefusal(
  { method, headers, isUpgrade }: CrossSiteRequest,
  origins: readonly string[],
): string | undefined {
  const site = headers['sec-fetch-site']
  const { origin } = headers
  const isReading = !isUpgrade && (method === 'GET' || method === 'HEAD')
  if (isReading && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document')
    return undefined
  if (site !== undefined && site !== 'none' && site !== 'same-origin')
    return 'A page of another site sent this request. Other pages can only link to the session.'
  if (origin === undefined) {
    if (isReading || site !== undefined) return undefined
    return 'The request changes data, but has no Origin header. Send it from a page of the session.'
  }
  if (origins.includes(origin)) return undefined
  // A page with the referrer policy `no-referrer` sends the origin `null` also to its own host.
  if (origin === 'null' && site === 'same-origin' && !isUpgrade) return undefined
  return 'A page of another origin sent this request. Send it from a page of the session.'
}
