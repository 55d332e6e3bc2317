/** A built-in program with which users sign in. It has no secret. PKCE binds the authorization code to the program. */
export type PublicClient = {
  id: string
  title: string
  /** Whether a user with a session continues without the sign-in form. */
  silent: boolean
  /** Returns whether a redirect address is allowed. Addresses are compared as text, because URL parsers differ. */
  mayReturnTo(redirectUri: string, baseUrl: string): boolean
}

/** The redirect address of a program that listens on any free loopback port (RFC 8252). */
const loopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([1-9]\d{0,4})\/callback$/
const highestPort = 65_535

const clients: readonly PublicClient[] = [
  {
    id: 'console',
    title: 'the console',
    silent: true,
    mayReturnTo: (redirectUri, baseUrl) => redirectUri === `${baseUrl}/` || redirectUri === `${baseUrl}/auth/callback`,
  },
  {
    id: 'cli',
    title: 'the command line',
    silent: false,
    mayReturnTo: (redirectUri) => Number(loopback.exec(redirectUri)?.[1] ?? highestPort + 1) <= highestPort,
  },
]

export function findPublicClient(id: string | undefined): PublicClient | undefined {
  return clients.find((client) => client.id === id)
}
