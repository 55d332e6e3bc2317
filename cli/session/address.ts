import { unknownAuthorityCodes } from '@millwright/api/certificate-authority.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'

const loopback = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * Returns the origin of a platform. Plain `http` is allowed for this machine only, because it sends tokens unencrypted.
 */
export function platformOrigin(address: string): string {
  const text = address.includes('://') ? address : `https://${address}`
  if (!URL.canParse(text) || !/^https?:\/\//i.test(text))
    throw usageError(`"${address}" is not the address of a platform.`, 'use an address such as https://plant.example')
  const { protocol, hostname, origin, username, password } = new URL(text)
  if (username !== '' || password !== '')
    throw usageError('The address of a platform must not contain a user name or password.')
  if (protocol === 'http:' && !loopback.test(hostname)) {
    throw usageError(
      `${origin} is not encrypted. Tokens could be read on the network.`,
      `use https://${new URL(text).host}`,
    )
  }
  return origin
}

const unknownAuthority = {
  reason: 'is not from an authority that this machine trusts',
  next: 'name the file of its authority: millwright login <url> --authority authority.pem, or set MILLWRIGHT_AUTHORITY',
}

/** The other errors of a certificate, with the next step. */
const certificateErrors: Readonly<Record<string, { reason: string; next: string }>> = {
  CERT_HAS_EXPIRED: { reason: 'has expired', next: 'renew the certificate, or correct the clock of this machine' },
  CERT_NOT_YET_VALID: { reason: 'is not valid yet', next: 'correct the clock of this machine' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    reason: 'is for another name',
    next: 'use a name in the certificate as the address, or create a certificate for this name',
  },
}

/** Returns the error for a failed connection. */
export function unreachable(url: string, error: unknown): CommandError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const { code = '', message } = cause as NodeJS.ErrnoException
  const untrusted = unknownAuthorityCodes.has(code) ? unknownAuthority : certificateErrors[code]
  if (untrusted !== undefined) {
    const { reason, next } = untrusted
    return new CommandError(`The certificate of ${url} ${reason} (${code}).`, {
      exitCode: exitCodes.unreachable,
      next: next.replace('<url>', url),
      cause: error,
    })
  }
  return new CommandError(`The platform at ${url} is not reachable (${code || message}).`, {
    exitCode: exitCodes.unreachable,
    next: 'check the address and that the platform is running, or run millwright doctor',
    cause: error,
  })
}

const timeoutMs = 10_000

/**
 * Throws unless a platform responds at this address. The check runs before the user opens the address in a browser and
 * types a password.
 */
export async function requirePlatform(url: string): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs)
  const response = await fetch(`${url}/version`, { signal, redirect: 'manual' }).catch((error: unknown) => {
    throw unreachable(url, error)
  })
  const version = (await response.json().catch(() => undefined)) as { product?: string } | undefined
  if (version?.product === undefined) throw notAPlatform(url, response.status)
}

export function notAPlatform(url: string, status: number): CommandError {
  return new CommandError(`The server at ${url} is not a Millwright platform (HTTP status ${status}).`, {
    exitCode: exitCodes.unreachable,
    next: 'check the address',
  })
}
