/** The programs of ours that people sign in with. They keep no secret: the code is bound to them by PKCE. */
export type PublicClient = {
  id: string
  title: string
  /** Somebody who is signed in already gets in without being asked. */
  silent: boolean
  /** Compared as text, never as a URL: what two parsers read differently is simply not registered. */
  mayReturnTo(redirectUri: string, baseUrl: string): boolean
}

/** RFC 8252: a program listens on a loopback port of its own choice. */
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
