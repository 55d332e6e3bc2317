/** Where agents may go. Everything else is refused here, whatever the gateway's token would allow. */

export const routes: readonly string[] = [
  '/gatekeeper/v1',
  '/api/wfx/v1',
  '/wfx-southbound',
  '/inventory/v2',
  '/inventory/v2-earlyaccess',
  '/inventory/v1-earlyaccess',
  '/remote-access/v1',
  '/credentials/v2',
]

/** Credentials of devices are for the gateway itself: whoever else is on this machine could not be told from it. */
const ownPaths = /^\/gatekeeper\/v1\/jobs\/[^/]+\/credentials\/?$/i

/**
 * Whether a request may go there. A path that says `..`, or hides a separator in an escape, could mean another place to
 * whoever reads it next: it goes nowhere.
 */
export function isRouted(target: string): boolean {
  const [path = ''] = target.split('?')
  if (/[\\#\s]|%2f|%5c|%2e|\/\/|\/\.{1,2}(\/|$)/i.test(path) || ownPaths.test(path)) return false
  return routes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
}

/** Headers that belong to one connection (RFC 9110 §7.6.1), and those that say who asks: both are set anew. */
const notForwarded = new Set([
  'authorization',
  'connection',
  'cookie',
  'dpop',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-forwarded-for',
])

type Headers = Readonly<Record<string, string | string[] | undefined>>

export function forwardedHeaders(headers: Headers): Record<string, string | string[]> {
  const alsoOfConnection = String(headers.connection ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
  const kept = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] =>
      entry[1] !== undefined && !notForwarded.has(entry[0]) && !alsoOfConnection.includes(entry[0]),
  )
  return Object.fromEntries(kept)
}
