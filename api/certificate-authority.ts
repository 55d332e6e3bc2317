import { X509Certificate } from 'node:crypto'

const certificatePattern = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** Returns the certificates in a PEM text, each in PEM format. */
export function pemCertificatesIn(text: string): string[] {
  return text.match(certificatePattern) ?? []
}

/** Returns the certificates of an authority in a PEM text, without other text. Returns undefined if there is no valid one. */
export function authorityIn(text: string): string | undefined {
  const certificates = pemCertificatesIn(text)
  return certificates.length > 0 && certificates.every(isCertificate) ? `${certificates.join('\n')}\n` : undefined
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}

/** The error codes of Node for a certificate of an authority that is not trusted. */
export const unknownAuthorityCodes: ReadonlySet<string> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
  'INVALID_CA',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
])
