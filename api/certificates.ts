import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import { BitString, fromBER, Integer, OctetString, Sequence, Set as SetOf, Utf8String } from 'asn1js'
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  Extension,
  ExtKeyUsage,
  GeneralName,
  GeneralNames,
  RelativeDistinguishedNames,
} from 'pkijs'

/**
 * Creates X.509 certificates for TLS: a private authority, and certificates that it signs. All keys are P-256, and all
 * signatures are ECDSA with SHA-256.
 */

/** `CertificateWithKey` is a certificate and its private key, both in PEM format. */
export type CertificateWithKey = { certificate: string; key: string }

export type CertificateSubject = {
  /** The common name. */
  name: string
  /** The organisational unit. */
  unit?: string
}

export type CertificateUsage = 'server' | 'client'

type Validity = { from?: Date; to: Date }

export type AuthorityOptions = { subject: CertificateSubject; validity: Validity }

export type CertificateOptions = AuthorityOptions & {
  authority: CertificateWithKey
  /** The DNS names and IP addresses of the owner. */
  hosts: readonly string[]
  usages: readonly CertificateUsage[]
}

const usageIds: Record<CertificateUsage, string> = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' }

/** A certificate is valid from this time before its creation, because the clocks of machines differ. */
const startedBeforeMs = 24 * 60 * 60_000

/** Creates an authority. It can sign certificates, but no other authorities. */
export function createAuthority({ subject, validity }: AuthorityOptions): CertificateWithKey {
  const { certificate, publicKey, privateKey } = newCertificate(subject, validity)
  certificate.issuer = certificate.subject
  const identifier = keyIdentifier(publicKey)
  certificate.extensions = [
    new Extension({
      extnID: '2.5.29.19',
      critical: true,
      extnValue: new BasicConstraints({ cA: true, pathLenConstraint: 0 }).toSchema().toBER(),
    }),
    keyUsage(0b0000_0110, 1),
    new Extension({ extnID: '2.5.29.14', extnValue: new OctetString({ valueHex: identifier }).toBER() }),
  ]
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  return { certificate: signed(certificate, key), key }
}

/** Creates a certificate that the authority signs. Throws if a host is not a DNS name or an IP address. */
export function createCertificate(options: CertificateOptions): CertificateWithKey {
  const { authority, subject, hosts, usages, validity } = options
  const { certificate, publicKey, privateKey } = newCertificate(subject, validity)
  const issuer = Certificate.fromBER(derOf(authority.certificate))
  certificate.issuer = issuer.subject
  const issuerKey = Buffer.from(issuer.subjectPublicKeyInfo.toSchema().toBER())
  certificate.extensions = [
    new Extension({
      extnID: '2.5.29.19',
      critical: true,
      extnValue: new BasicConstraints({ cA: false }).toSchema().toBER(),
    }),
    keyUsage(0b1000_0000, 7),
    new Extension({
      extnID: '2.5.29.37',
      extnValue: new ExtKeyUsage({ keyPurposes: usages.map((usage) => usageIds[usage]) }).toSchema().toBER(),
    }),
    new Extension({ extnID: '2.5.29.14', extnValue: new OctetString({ valueHex: keyIdentifier(publicKey) }).toBER() }),
    new Extension({
      extnID: '2.5.29.35',
      extnValue: new AuthorityKeyIdentifier({
        keyIdentifier: new OctetString({ valueHex: keyIdentifier(issuerKey) }),
      })
        .toSchema()
        .toBER(),
    }),
    ...(hosts.length === 0
      ? []
      : [
          new Extension({
            extnID: '2.5.29.17',
            extnValue: new GeneralNames({ names: hosts.map(generalName) }).toSchema().toBER(),
          }),
        ]),
  ]
  return {
    certificate: signed(certificate, authority.key),
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  }
}

/** Returns true for a DNS name or an IP address. A wildcard is allowed as the first label. */
export function isCertificateHost(text: string): boolean {
  if (isIP(text) !== 0) return true
  const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i
  const labels = text.replace(/^\*\.(?=.)/, '').split('.')
  return text.length <= 253 && labels.every((one) => label.test(one)) && !/^\d+$/.test(labels.at(-1) ?? '')
}

function newCertificate({ name, unit }: CertificateSubject, { from, to }: Validity) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const certificate = new Certificate()
  certificate.version = 2
  const serial = randomBytes(16)
  // The first bits make the number positive and its length constant.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  certificate.serialNumber = new Integer({ valueHex: bufferOf(serial) })
  certificate.subject = distinguishedName([...(unit === undefined ? [] : [['2.5.4.11', unit]]), ['2.5.4.3', name]])
  certificate.notBefore.value = from ?? new Date(Date.now() - startedBeforeMs)
  certificate.notAfter.value = to
  const encodedKey = publicKey.export({ format: 'der', type: 'spki' })
  certificate.subjectPublicKeyInfo.fromSchema(fromBER(bufferOf(encodedKey)).result)
  return { certificate, publicKey: encodedKey, privateKey }
}

function signed(certificate: Certificate, key: string): string {
  const algorithm = new AlgorithmIdentifier({ algorithmId: '1.2.840.10045.4.3.2' })
  certificate.signature = algorithm
  certificate.signatureAlgorithm = algorithm
  certificate.tbsView = new Uint8Array(certificate.encodeTBS().toBER())
  const signature = sign('sha256', certificate.tbsView, createPrivateKey(key))
  certificate.signatureValue = new BitString({ valueHex: bufferOf(signature) })
  const base64 = Buffer.from(certificate.toSchema(true).toBER()).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`
}

/** Returns a name with one set for each attribute. The library would put all attributes into one set. */
function distinguishedName(attributes: readonly (readonly string[])[]): RelativeDistinguishedNames {
  const sets = attributes.map(([type = '', value = '']) => {
    const attribute = new AttributeTypeAndValue({ type, value: new Utf8String({ value }) })
    return new SetOf({ value: [attribute.toSchema()] })
  })
  return new RelativeDistinguishedNames({ schema: fromBER(new Sequence({ value: sets }).toBER()).result })
}

function keyUsage(bits: number, unusedBits: number): Extension {
  const value = new BitString({ valueHex: new Uint8Array([bits]).buffer, unusedBits })
  return new Extension({ extnID: '2.5.29.15', critical: true, extnValue: value.toBER() })
}

function keyIdentifier(publicKey: Uint8Array): ArrayBuffer {
  return bufferOf(createHash('sha256').update(publicKey).digest().subarray(0, 20))
}

function generalName(host: string): GeneralName {
  if (!isCertificateHost(host)) throw new TypeError(`"${host}" is not a DNS name or an IP address`)
  if (isIP(host) === 0) return new GeneralName({ type: 2, value: host.toLowerCase() })
  return new GeneralName({ type: 7, value: new OctetString({ valueHex: bufferOf(addressBytes(host)) }) })
}

function addressBytes(address: string): Uint8Array {
  if (isIP(address) === 4) return Uint8Array.from(address.split('.').map(Number))
  // The URL parser returns the shortest form, without an embedded IPv4 address.
  const [head = '', tail] = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const [first, last] = [groups(head), groups(tail ?? '')]
  const words = [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
  return Uint8Array.from(words.flatMap((word) => [word >> 8, word & 0xff]))
}

function derOf(pem: string): ArrayBuffer {
  return bufferOf(Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64'))
}

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}
