import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { authorityIn, pemCertificatesIn, unknownAuthorityCodes } from '@millwright/api/certificate-authority.ts'
import type { GatewayConfig } from '@millwright/api/onboarding.ts'
import { SetupError } from '../setup-error.ts'

/**
 * `PlatformTrust` decides which certificate of the platform the gateway accepts. With an authority, only certificates of
 * this authority are accepted. With a fingerprint, only the certificate with this SHA-256 is accepted, with any name and any
 * issuer. With both, both must match. Without any, the authorities that Node contains apply.
 */
export type PlatformTrust = {
  /** The certificates of the authority in PEM format. */
  authority?: string
  /** The SHA-256 of the certificate of the platform: 64 hexadecimal digits in lower case. */
  fingerprint?: string
}

/** `UntrustedPlatformError` means that the gateway does not accept the certificate of the platform. */
export class UntrustedPlatformError extends Error {
  override readonly name = 'UntrustedPlatformError'
}

/** Reads `tls` of a configuration file. The authority is a PEM text, or a path relative to the file. */
export async function readTrust(
  { tls, baseUrl }: Pick<GatewayConfig, 'tls' | 'baseUrl'>,
  configFile: string,
): Promise<PlatformTrust | undefined> {
  if (tls?.authority === undefined && tls?.fingerprint === undefined) return undefined
  if (!baseUrl.startsWith('https://'))
    throw new SetupError(
      `${configFile} contains tls, but baseUrl is ${baseUrl}: use an address that starts with https://.`,
    )
  const { authority, fingerprint } = tls
  return {
    ...(authority === undefined ? {} : { authority: await authorityOf(authority, configFile) }),
    ...(fingerprint === undefined ? {} : { fingerprint: fingerprintOf(fingerprint, configFile) }),
  }
}

async function authorityOf(given: string, configFile: string): Promise<string> {
  const isText = given.includes('-----BEGIN')
  const path = resolve(dirname(configFile), given)
  const text = isText
    ? given
    : await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
        throw new SetupError(
          `${path} cannot be read (${code}): tls.authority in ${configFile} must be the path of a PEM file, relative to this file, or the PEM text.`,
        )
      })
  const authority = authorityIn(text)
  if (authority !== undefined) return authority
  throw new SetupError(
    `${isText ? `tls.authority in ${configFile}` : path} is not a certificate in PEM format: copy the certificate of the authority of the platform there.`,
  )
}

function fingerprintOf(given: string, configFile: string): string {
  const digits = given.replaceAll(':', '').trim().toLowerCase()
  if (/^[0-9a-f]{64}$/.test(digits)) return digits
  throw new SetupError(
    `tls.fingerprint in ${configFile} must be the SHA-256 of the certificate of the platform: 64 hexadecimal digits, with or without colons.`,
  )
}

/** Returns a sentence part for people: which certificates the gateway accepts. */
export function trustText(baseUrl: string, { authority, fingerprint }: PlatformTrust = {}): string {
  if (!baseUrl.startsWith('https://')) return 'no TLS'
  const parts = [
    ...(authority === undefined ? [] : [`authority ${authorityNames(authority).join(', ')}`]),
    ...(fingerprint === undefined ? [] : [`certificate ${colons(fingerprint)}`]),
  ]
  return parts.length === 0 ? 'authorities of Node' : parts.join(', ')
}

function authorityNames(pem: string): string[] {
  return pemCertificatesIn(pem).map((one) => {
    const { subject, fingerprint256 } = new X509Certificate(one)
    return /^CN=(.+)$/m.exec(subject)?.[1] ?? fingerprint256
  })
}

/**
 * Returns the TLS options of every connection to the platform. With a fingerprint only, the handshake accepts every
 * certificate, so `requireTrusted` must be called before anything is sent.
 */
export function tlsOptionsOf({ authority, fingerprint }: PlatformTrust = {}) {
  return {
    minVersion: 'TLSv1.2' as const,
    ...(authority === undefined ? {} : { ca: authority }),
    rejectUnauthorized: authority !== undefined || fingerprint === undefined,
  }
}

/** Throws an `UntrustedPlatformError` if the certificate of an open connection does not have the fingerprint. */
export function requireTrusted(socket: TLSSocket, host: string, { fingerprint }: PlatformTrust = {}): void {
  if (fingerprint === undefined) return
  const certificate = socket.getPeerX509Certificate()
  const received = certificate?.fingerprint256.replaceAll(':', '').toLowerCase()
  if (certificate === undefined || received !== fingerprint) {
    throw new UntrustedPlatformError(
      `The certificate of ${host} has another fingerprint than gateway-config.json: expected ${colons(fingerprint)}, got ${colons(received ?? 'none')}. If the platform has a new certificate, write its fingerprint to tls.fingerprint.`,
    )
  }
  const now = Date.now()
  if (now > Date.parse(certificate.validTo)) throw new UntrustedPlatformError(expired(host, certificate.validTo))
  if (now < Date.parse(certificate.validFrom)) throw new UntrustedPlatformError(early(host, certificate.validFrom))
}

function colons(fingerprint: string): string {
  return fingerprint.toUpperCase().replace(/([0-9A-F]{2})(?=[0-9A-F])/g, '$1:')
}

/** Returns the error of a connection attempt. For an error of the certificate, it explains what to do. */
export function connectionError(error: unknown, host: string, { authority }: PlatformTrust = {}): unknown {
  const { code, cert } = error as NodeJS.ErrnoException & { cert?: { subjectaltname?: string } }
  const text = (() => {
    if (code === undefined) return undefined
    if (code === 'CERT_HAS_EXPIRED') return expired(host)
    if (code === 'CERT_NOT_YET_VALID') return early(host)
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      return `The certificate of ${host} is for other names (${cert?.subjectaltname ?? 'none'}). Use one of these names in baseUrl of gateway-config.json, or create a certificate for this name.`
    if (unknownAuthorityCodes.has(code) && authority !== undefined)
      return `The certificate of ${host} is not from the authority in gateway-config.json (${code}). Check the address, or write the authority of the platform to tls.authority.`
    if (unknownAuthorityCodes.has(code))
      return `The certificate of ${host} is not from an authority that this machine trusts (${code}). Write the authority or the fingerprint of the platform to tls in gateway-config.json.`
    if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG' || code === 'EPROTO')
      return `${host} does not answer with TLS (${code}). Check the protocol and the port of baseUrl in gateway-config.json.`
    return undefined
  })()
  return text === undefined ? error : new UntrustedPlatformError(text)
}

function expired(host: string, at?: string): string {
  return `The certificate of ${host} has expired${at === undefined ? '' : ` (${at})`}. Renew the certificate of the platform, or correct the clock of this machine.`
}

function early(host: string, at?: string): string {
  return `The certificate of ${host} is not valid yet${at === undefined ? '' : ` (${at})`}. Correct the clock of this machine or of the platform.`
}
