import type { DeviceOrigin } from './device-origin.ts'
import { deviceCookies } from './entry-cookie.ts'
import { endToEndHeaders, type Header } from './message-headers.ts'

type RequestHeaderOptions = {
  device: DeviceOrigin
  /** The forms of the session's origin. */
  origins: readonly string[]
  /** The origin of the platform, which is the issuer of its access tokens. */
  issuer: string
}

/** Headers of proxies and of the platform. They are not sent to the device. */
const proxyHeaders =
  /^(?:forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|cf-.*|x-request-id|x-millwright-.*|traceparent|tracestate|baggage|dpop|alt-used)$/

/** The encodings that the proxy can decode, in order to rewrite links. */
const knownEncodings = /^(?:gzip|br|identity)$/

/** Returns the headers of a browser's request for the device. */
export function requestHeaders(
  headers: readonly Header[],
  { device, origins, issuer }: RequestHeaderOptions,
): Header[] {
  const sent: Header[] = [['host', device.host]]
  for (const [name, value] of endToEndHeaders(headers)) {
    if (name === 'host' || proxyHeaders.test(name)) continue
    const changed = changedValue(name, value)
    if (changed !== undefined) sent.push([name, changed])
  }
  return sent

  function changedValue(name: string, value: string): string | undefined {
    if (name === 'cookie') return deviceCookies(value)
    if (name === 'authorization') return isPlatformToken(value, issuer) ? undefined : value
    if (name === 'origin') return origins.includes(value) ? device.origin : undefined
    if (name === 'referer') return deviceReferrer(value, { device, origins })
    if (name === 'accept-encoding') return acceptedEncodings(value)
    return value
  }
}

function deviceReferrer(
  value: string,
  { device, origins }: Pick<RequestHeaderOptions, 'device' | 'origins'>,
): string | undefined {
  const url = URL.parse(value)
  if (url === null || !origins.includes(url.origin) || url.pathname.startsWith('/.millwright/')) return undefined
  return `${device.origin}${url.pathname}${url.search}`
}

function acceptedEncodings(value: string): string {
  const known = value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => knownEncodings.test(part.split(';', 1)[0]?.trim().toLowerCase() ?? ''))
  return known.length === 0 ? 'identity' : known.join(', ')
}

/**
 * Returns true for an access token of the platform. A device may use tokens of its own, so other tokens are passed to
 * the device. The signature does not matter here.
 */
export function isPlatformToken(authorization: string, issuer: string): boolean {
  const [, token] = /^(?:bearer|dpop)\s+(\S+)/i.exec(authorization) ?? []
  const payload = token?.split('.')[1]
  if (payload === undefined) return false
  try {
    return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { iss?: unknown } | null)?.iss === issuer
  } catch {
    return false
  }
}
