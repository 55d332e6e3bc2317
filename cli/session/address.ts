import { CommandError, exitCodes, usageError } from '../output/error-report.ts'

const loopback = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Where a platform is. Tokens travel in clear over http, so that is for this machine alone. */
export function platformOrigin(given: string): string {
  const text = given.includes('://') ? given : `https://${given}`
  if (!URL.canParse(text) || !/^https?:\/\//i.test(text))
    throw usageError(`"${given}" is not the address of a platform.`, 'give one like https://plant.example')
  const { protocol, hostname, origin, username, password } = new URL(text)
  if (username !== '' || password !== '') throw usageError('The address of a platform holds no name and no password.')
  if (protocol === 'http:' && !loopback.test(hostname)) {
    throw usageError(
      `${origin} is not encrypted: whoever listens would read your tokens.`,
      `use https://${new URL(text).host}`,
    )
  }
  return origin
}

/** The sentence about a connection that did not come about. */
export function unreachable(url: string, error: unknown): CommandError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const { code, message } = cause as NodeJS.ErrnoException
  return new CommandError(`The platform at ${url} cannot be reached (${code ?? message}).`, {
    exitCode: exitCodes.unreachable,
    next: 'check the address and that the platform runs; millwright doctor looks for more',
    cause: error,
  })
}

const patienceMs = 10_000

/** Before somebody is sent there to type a password: a mistyped address is told at once. */
export async function requirePlatform(url: string): Promise<void> {
  const signal = AbortSignal.timeout(patienceMs)
  const response = await fetch(`${url}/version`, { signal, redirect: 'manual' }).catch((error: unknown) => {
    throw unreachable(url, error)
  })
  const version = (await response.json().catch(() => undefined)) as { product?: string } | undefined
  if (version?.product === undefined) throw notAPlatform(url, response.status)
}

export function notAPlatform(url: string, status: number): CommandError {
  return new CommandError(`${url} answered ${status}, which no platform does.`, {
    exitCode: exitCodes.unreachable,
    next: 'check the address',
  })
}
