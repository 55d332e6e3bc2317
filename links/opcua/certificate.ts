import { constants, createHash, publicEncrypt, X509Certificate } from 'node:crypto'

/** `CertificateFacts` describes the certificate of a server. */
export type CertificateFacts = {
  der: Buffer
  /** The SHA-256 hash of the certificate, in lower-case hexadecimal digits. */
  hash: string
  subject: string
  issuer: string
  validFrom: Date
  validTo: Date
  /** Whether the key can be used for a secured channel: an RSA key of 2048 to 4096 bits. */
  isUsable: boolean
}

/** Parses a certificate, or the first one of a chain. Returns undefined if it is not a valid certificate. */
export function parseCertificate(bytes: Buffer | null | undefined): CertificateFacts | undefined {
  const der = firstOf(bytes ?? Buffer.alloc(0))
  if (der === undefined) return undefined
  try {
    const certificate = new X509Certificate(der)
    return {
      der,
      hash: createHash('sha256').update(der).digest('hex'),
      subject: oneLine(certificate.subject),
      issuer: oneLine(certificate.issuer),
      validFrom: new Date(certificate.validFrom),
      validTo: new Date(certificate.validTo),
      isUsable: isUsable(certificate),
    }
  } catch {
    return undefined
  }
}

/** Returns the first certificate of a chain. Its length is in the header of its encoding. */
function firstOf(chain: Buffer): Buffer | undefined {
  if (chain.length < 4 || chain[0] !== 0x30) return undefined
  const first = chain[1] ?? 0
  if (first < 0x80) return chain.subarray(0, 2 + first)
  const lengthBytes = first & 0x7f
  if (lengthBytes === 0 || lengthBytes > 3 || chain.length < 2 + lengthBytes) return undefined
  const end = 2 + lengthBytes + chain.readUIntBE(2, lengthBytes)
  return end <= chain.length ? chain.subarray(0, end) : undefined
}

/** The library throws outside of any call if it cannot encrypt with a key, so the key is tried before it is used. */
function isUsable({ publicKey }: X509Certificate): boolean {
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0
  if (publicKey.asymmetricKeyType !== 'rsa' || bits < 2_048 || bits > 4_096) return false
  try {
    publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }, Buffer.alloc(16))
    return true
  } catch {
    return false
  }
}

function oneLine(name: string): string {
  return name.split('\n').join(', ').slice(0, 500)
}
