import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { pemCertificatesIn } from '@millwright/api/certificate-authority.ts'

/** `CertificatePair` is a certificate chain and its key in PEM format, both checked. */
export type CertificatePair = {
  cert: string
  key: string
  /** The first certificate of the chain: the certificate of the server. */
  certificate: X509Certificate
}

/** `CertificateError` states in one sentence without paths why a pair cannot be used. */
export class CertificateError extends Error {}

/** Returns the certificates in a PEM text. */
export function certificatesIn(pem: string): X509Certificate[] {
  return pemCertificatesIn(pem).map((text) => new X509Certificate(text))
}

/** Returns the root certificates that a certificate file contains after the chain, as PEM text. Returns undefined without one. */
export function rootsIn(pem: string): string | undefined {
  const roots = certificatesIn(pem).filter((one) => one.ca && one.checkIssued(one))
  return roots.length === 0 ? undefined : roots.join('')
}

/** Returns the pair if key and certificate match and the certificate is valid now. */
export function checkedPair({ cert, key, now }: { cert: string; key: string; now: number }): CertificatePair {
  const certificate = firstCertificate(cert)
  if (!certificate.checkPrivateKey(privateKey(key)))
    throw new CertificateError('The key does not belong to the certificate')
  if (now >= Date.parse(certificate.validTo))
    throw new CertificateError(`The certificate expired on ${dayOf(certificate.validTo)}`)
  if (now < Date.parse(certificate.validFrom))
    throw new CertificateError(`The certificate is not valid before ${dayOf(certificate.validFrom)}`)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new CertificateError(`The certificate cannot be used (${(error as NodeJS.ErrnoException).code})`)
  }
  return { cert, key, certificate }
}

function firstCertificate(pem: string): X509Certificate {
  try {
    const [first] = certificatesIn(pem)
    if (first !== undefined) return first
  } catch {
    // The next line reports it.
  }
  throw new CertificateError('The certificate file contains no certificate in PEM format')
}

function privateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new CertificateError('The key file contains no private key in PEM format without a passphrase')
  }
}

export function dayOf(text: string): string {
  return new Date(text).toISOString().slice(0, 10)
}

/** Returns the DNS names and IP addresses of a certificate. */
export function hostsOf({ subjectAltName = '' }: X509Certificate): { names: string[]; addresses: string[] } {
  const entries = subjectAltName.split(', ')
  const valuesOf = (prefix: string) =>
    entries.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length))
  return { names: valuesOf('DNS:'), addresses: valuesOf('IP Address:') }
}

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

/**
 * Returns the host name at which clients reach a server with this certificate. A server that listens on loopback only is
 * `localhost` if the certificate permits it.
 */
export function hostOf(certificate: X509Certificate, listensOn: string): string {
  const { names, addresses } = hostsOf(certificate)
  const isLocalhost = certificate.checkHost('localhost') !== undefined
  if (loopbackHost.test(listensOn) && isLocalhost) return 'localhost'
  const name = names.find((name) => name !== 'localhost' && !name.startsWith('*.'))
  if (name !== undefined || isLocalhost) return name ?? 'localhost'
  const [address = 'localhost'] = addresses
  return address.includes(':') ? `[${address}]` : address
}
