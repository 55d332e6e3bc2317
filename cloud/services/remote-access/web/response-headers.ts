import type { DeviceOrigin } from './device-origin.ts'
import { browserCookie } from './entry-cookie.ts'
import { endToEndHeaders, type Header, isValidValue } from './message-headers.ts'

type ResponseHeaderOptions = {
  status: number
  device: DeviceOrigin
  /** The origin of the session, as the browser names it. */
  origin: string
  /** The path of the request. Relative links of the response refer to it. */
  path: string
  isSecure: boolean
}

/** Headers of a device that would change the browser or the reverse proxy beyond this response, or open it to other origins. */
const removedHeaders =
  /^(?:strict-transport-security|clear-site-data|alt-svc|service-worker-allowed|access-control-.*|referrer-policy|x-frame-options|public-key-pins.*|expect-ct|nel|report-to|reporting-endpoints|x-accel-.*|x-sendfile|x-lighttpd-send-file|x-reproxy-url|cross-origin-resource-policy|set-login)$/

const redirectStatuses = [301, 302, 303, 307, 308]

/** `ForeignRedirect` is a redirect of a device to another origin. The proxy neither follows nor passes it. */
export class ForeignRedirect {
  readonly target: string

  constructor(target: string) {
    this.target = target
  }
}

/** Returns the headers of a device's response for the browser. */
export function responseHeaders(
  headers: readonly Header[],
  options: ResponseHeaderOptions,
): Header[] | ForeignRedirect {
  const { status, isSecure } = options
  const received = endToEndHeaders(headers).filter(([, value]) => isValidValue(value))
  const isChunked = headers.some(([name]) => name === 'transfer-encoding')
  const sent: Header[] = []
  for (const [name, value] of received) {
    if (removedHeaders.test(name) || (name === 'content-length' && isChunked)) continue
    if (name === 'location' && redirectStatuses.includes(status)) {
      const target = sessionUrl(value, options)
      if (target === undefined) return new ForeignRedirect(value)
      sent.push([name, target])
      continue
    }
    const changed = changedValue(name, value)
    if (changed !== undefined) sent.push([name, changed])
  }
  return [...sent, ...protection(received)]

  function changedValue(name: string, value: string): string | undefined {
    if (name === 'set-cookie') return browserCookie(value, { isSecure })
    if (name === 'location' || name === 'content-location') return sessionUrl(value, options)
    if (name === 'refresh') return refreshHeader(value, options)
    if (name.startsWith('content-security-policy')) return securityPolicy(value, options)
    return value
  }
}

/**
 * Returns the headers that the proxy adds. The second security policy also applies if the device has its own policy, so
 * that pages of other origins cannot embed the page.
 */
function protection(received: readonly Header[]): Header[] {
  const valueNamed = (wanted: string) => received.find(([name]) => name === wanted)?.[1].trim()
  const frames = valueNamed('x-frame-options')?.toUpperCase() === 'DENY' ? 'DENY' : 'SAMEORIGIN'
  const added: Header[] = [
    ['x-frame-options', frames],
    ['content-security-policy', "frame-ancestors 'self'"],
    ['referrer-policy', 'same-origin'],
    ['cross-origin-resource-policy', 'same-origin'],
  ]
  if (valueNamed('cross-origin-opener-policy') === undefined) added.push(['cross-origin-opener-policy', 'same-origin'])
  // Devices often send scripts and styles with a wrong type, which browsers refuse with this header.
  if (valueNamed('x-content-type-options') === undefined && isHtml(valueNamed('content-type')))
    added.push(['x-content-type-options', 'nosniff'])
  return added
}

/**
 * Converts a URL of the device to a URL of the session. Returns undefined for a URL of another origin. The result is
 * absolute, because a path such as `//host` would name another host.
 */
function sessionUrl(
  value: string,
  { device, origin, path }: Pick<ResponseHeaderOptions, 'device' | 'origin' | 'path'>,
): string | undefined {
  // Devices send UTF-8 in this header. The HTTP parser reads each byte as one character.
  const url = URL.parse(Buffer.from(value, 'latin1').toString(), `${device.origin}${path}`)
  if (url === null || url.origin !== device.origin || url.username !== '' || url.password !== '') return undefined
  return `${origin}${url.pathname}${url.search}${url.hash}`
}

function refreshHeader(value: string, options: ResponseHeaderOptions): string | undefined {
  // Each step is linear in the length of the header, because a device can send any header.
  const [, seconds = '', rest = ''] = /^\s*(\d+)(.*)$/.exec(value) ?? []
  const separated = rest.replace(/^[\d.]+/, '')
  if (seconds === '' || /^[^;,\s]/.test(separated)) return undefined
  const named = separated.trimStart().replace(/^[;,]/, '').trimStart()
  const quoted = named
    .replace(/^url\s*=/i, '')
    .trimStart()
    .replace(/^["']/, '')
  const target = quoted.split(/["']/, 1)[0]?.trim() ?? ''
  if (target === '') return seconds
  const url = sessionUrl(target, options)
  return url === undefined ? undefined : `${seconds}; url=${url}`
}

/** Replaces the origin of the device in a security policy. Over http, requests must not be upgraded to https. */
function securityPolicy(value: string, { device, origin, isSecure }: ResponseHeaderOptions): string {
  const scheme = device.origin.slice(0, device.origin.indexOf('//'))
  const own = new Set(device.hosts.flatMap((host) => [`${scheme}//${host}`, host]))
  return value
    .split(';')
    .map((directive) => directive.trim())
    .filter((directive) => isSecure || !/^(?:upgrade-insecure-requests|block-all-mixed-content)$/i.test(directive))
    .map((directive) =>
      directive
        .split(/\s+/)
        .map((source) => (own.has(source.replace(/\/$/, '').toLowerCase()) ? origin : source))
        .join(' '),
    )
    .join('; ')
}

export function isHtml(contentType: string | undefined): boolean {
  return /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i.test(contentType ?? '')
}

/** Headers that describe the exact bytes of a body. They are removed if the body changes. */
const bodyHeaders = [
  'content-length',
  'content-encoding',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
  'accept-ranges',
]

export function withoutBodyHeaders(headers: readonly Header[]): Header[] {
  return headers.filter(([name]) => !bodyHeaders.includes(name))
}
