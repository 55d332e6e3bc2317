/** The built-in programs that people sign in with. They have no secret: PKCE binds the code to the program. */
export type PublicClient = {
  id: string
  title: string
  /** Whether a person with a session continues without the sign-in form. */
  silent: boolean
  /** Redirect addresses are compared as text, because URL parsers differ. */
  mayReturnTo(redirectUri: string, baseUrl: string): boolean
}

/** RFC 8252: a program listens on any free loopback port. */
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
