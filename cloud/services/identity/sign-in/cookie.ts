/** The cookie that binds the forms of a sign-in to the browser. */
export const formCookie = 'millwright_form'

type Options = { seconds: number; sameSite: 'Lax' | 'Strict'; baseUrl: string }

/** Returns the header that sets a cookie of the sign-in page. Only `/oauth` reads these cookies. */
export function setCookie(name: string, value: string, { seconds, sameSite, baseUrl }: Options): string {
  const attributes = `HttpOnly; SameSite=${sameSite}`
  return isSecure(baseUrl)
    ? `${hostPrefix}${name}=${value}; Max-Age=${seconds}; Path=/; ${attributes}; Secure`
    : `${name}=${value}; Max-Age=${seconds}; Path=/oauth; ${attributes}`
}

/** Returns the value of a cookie that `setCookie` has set. */
export function readCookie(header: string | undefined, name: string, baseUrl: string): string | undefined {
  const wanted = isSecure(baseUrl) ? `${hostPrefix}${name}` : name
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === wanted) return pair.slice(equals + 1).trim()
  }
  return undefined
}

/**
 * With this prefix, browsers accept a cookie only from the host itself. Otherwise a page on another host of the domain,
 * such as the web page of a device, could sign the user in as an attacker. Browsers require `Secure` and the path `/`.
 */
const hostPrefix = '__Host-'

function isSecure(baseUrl: string): boolean {
  return baseUrl.startsWith('https:')
}
