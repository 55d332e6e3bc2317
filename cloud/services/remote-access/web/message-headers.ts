/** Headers that apply to one connection only (RFC 9110 §7.6.1), or that each side of the proxy sets itself. */
const connectionHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'http2-settings',
])

export type Header = readonly [name: string, value: string]

/** Converts the alternating names and values of a message to pairs with names in lower case. */
export function headerPairs(raw: readonly string[]): Header[] {
  const pairs: Header[] = []
  for (let index = 0; index + 1 < raw.length; index += 2)
    pairs.push([raw[index]?.toLowerCase() ?? '', raw[index + 1] ?? ''])
  return pairs
}

/** Removes the headers that apply to one connection, and the headers that the header `Connection` names. */
export function endToEndHeaders(headers: readonly Header[]): Header[] {
  const named = new Set(
    headers
      .filter(([name]) => name === 'connection')
      .flatMap(([, value]) => value.split(',').map((name) => name.trim().toLowerCase())),
  )
  return headers.filter(([name]) => !connectionHeaders.has(name) && (!named.has(name) || isProtected(name)))
}

/** A message cannot remove these headers, because the other side would then read the body or the host in another way. */
function isProtected(name: string): boolean {
  return name === 'host' || name === 'content-length' || name === 'cookie' || name === 'set-cookie'
}

/** Returns true for a header value without control characters. The HTTP library refuses all other values. */
export function isValidValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}
