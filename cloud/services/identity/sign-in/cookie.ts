/** The cookie that binds the forms of a sign-in to the browser. */
export const formCookie = 'millwright_form'

/** The options of a cookie of the sign-in page. Browsers send these cookies only to `/oauth`. */
type Options = { seconds: number; path: string; sameSite: 'Lax' | 'Strict'; baseUrl: string }

export function setCookie(name: string, value: string, { seconds, path, sameSite, baseUrl }: Options): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : ''
  return `${name}=${value}; Max-Age=${seconds}; Path=${path}; HttpOnly; SameSite=${sameSite}${secure}`
}

export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim()
  }
  return undefined
}
