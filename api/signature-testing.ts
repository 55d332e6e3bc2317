import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { fromBER, Integer, ObjectIdentifier, OctetString, PrintableString, UTCTime } from 'asn1js'
import {
  AlgorithmIdentifier,
  Attribute,
  AttributeTypeAndValue,
  BasicConstraints,
  Certificate,
  ContentInfo,
  EncapsulatedContentInfo,
  Extension,
  ExtKeyUsage,
  IssuerAndSerialNumber,
  SignedAndUnsignedAttributes,
  SignedData,
  SignerInfo,
} from 'pkijs'

/** Keys, certificates and signatures for tests. The tests need no other program. */

export type TestMinisignKey = {
  /** The public key with its comment, as in the file of minisign. */
  publicKey: string
  keyId: string
  sign(content: Uint8Array, options?: { trustedComment?: string; isLegacy?: boolean }): string
}

export function createMinisignKey(): TestMinisignKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const id = randomBytes(8)
  const comment = 'untrusted comment: minisign public key'
  return {
    publicKey: `${comment}\n${Buffer.concat([Buffer.from('Ed'), id, raw]).toString('base64')}\n`,
    keyId: Buffer.from(id).reverse().toString('hex').toUpperCase(),
    sign(content, { trustedComment = 'timestamp:1', isLegacy = false } = {}) {
      const signed = isLegacy ? content : createHash('blake2b512').update(content).digest()
      const signature = sign(null, signed, privateKey)
      const global = sign(null, Buffer.concat([signature, Buffer.from(trustedComment)]), privateKey)
      const first = Buffer.concat([Buffer.from(isLegacy ? 'Ed' : 'ED'), id, signature])
      return `untrusted comment: signature\n${first.toString('base64')}\ntrusted comment: ${trustedComment}\n${global.toString('base64')}\n`
    },
  }
}

export type TestCertificate = { pem: string; name: string; certificate: Certificate; key: KeyObject }

export type CertificateOptions = {
  /** The certificate of the issuer. Without it, the certificate is self-signed. */
  issuer?: TestCertificate
  isAuthority?: boolean
  pathLength?: number
  /** The extended key usages. Without them, the extension is missing. */
  usages?: string[]
  notBefore?: Date
  notAfter?: Date
  keyType?: 'ec' | 'rsa' | 'ed25519'
  rsaBits?: number
  /** The public exponent of an RSA key. */
  exponent?: number
  /** Another certificate with the same key. */
  sameKeyAs?: TestCertificate
}

export const usageIds = { codeSigning: '1.3.6.1.5.5.7.3.3', serverAuthentication: '1.3.6.1.5.5.7.3.1' } as const

const day = 86_400_000

export function createCertificate(name: string, options: CertificateOptions = {}): TestCertificate {
  const { publicKey, privateKey } = keysOf(options)
  const certificate = new Certificate()
  certificate.version = 2
  certificate.serialNumber = new Integer({ value: randomBytes(3).readUIntBE(0, 3) + 1 })
  certificate.subject.typesAndValues.push(commonName(name))
  certificate.issuer.typesAndValues.push(commonName(options.issuer?.name ?? name))
  certificate.notBefore.value = options.notBefore ?? new Date(Date.now() - day)
  certificate.notAfter.value = options.notAfter ?? new Date(Date.now() + 365 * day)
  certificate.subjectPublicKeyInfo.fromSchema(schemaOf(publicKey.export({ format: 'der', type: 'spki' })))
  const constraints = new BasicConstraints({
    cA: options.isAuthority === true,
    ...(options.pathLength === undefined ? {} : { pathLenConstraint: options.pathLength }),
  })
  certificate.extensions = [
    new Extension({ extnID: '2.5.29.19', critical: true, extnValue: constraints.toSchema().toBER() }),
    ...(options.usages === undefined
      ? []
      : [
          new Extension({
            extnID: '2.5.29.37',
            extnValue: new ExtKeyUsage({ keyPurposes: options.usages }).toSchema().toBER(),
          }),
        ]),
  ]
  const signer = options.issuer?.key ?? privateKey
  const algorithm = signatureAlgorithmOf(signer)
  certificate.signature = algorithm
  certificate.signatureAlgorithm = algorithm
  certificate.tbsView = new Uint8Array(certificate.encodeTBS().toBER())
  certificate.signatureValue.valueBlock.valueHexView = new Uint8Array(
    sign(digestOf(signer, 'sha256'), certificate.tbsView, signer),
  )
  const der = Buffer.from(certificate.toSchema(true).toBER())
  return { pem: pemOf('CERTIFICATE', der), name, certificate: Certificate.fromBER(bufferOf(der)), key: privateKey }
}

export type CmsOptions = {
  signer: TestCertificate
  /** Further certificates in the signature. */
  certificates?: TestCertificate[]
  digest?: 'sha256' | 'sha384' | 'sha512'
  /** False for a signature without the certificate of the signer. */
  hasSigner?: boolean
  hasAttributes?: boolean
  /** True if the signature contains the content. */
  isAttached?: boolean
}

/** Returns a CMS signature in PEM format. */
export function signCms(content: Uint8Array, options: CmsOptions): string {
  const { signer, certificates = [], digest = 'sha256', hasSigner = true, hasAttributes = true } = options
  const messageDigest = createHash(digest).update(content).digest()
  const attributes = new SignedAndUnsignedAttributes({
    type: 0,
    attributes: [
      new Attribute({
        type: '1.2.840.113549.1.9.3',
        values: [new ObjectIdentifier({ value: '1.2.840.113549.1.7.1' })],
      }),
      new Attribute({ type: '1.2.840.113549.1.9.5', values: [new UTCTime({ valueDate: new Date() })] }),
      new Attribute({
        type: '1.2.840.113549.1.9.4',
        values: [new OctetString({ valueHex: bufferOf(messageDigest) })],
      }),
    ],
  })
  const encoded = Buffer.from(attributes.toSchema().toBER())
  encoded[0] = 0x31
  const signed = hasAttributes ? encoded : content
  const { certificate, key } = signer
  const info = new SignerInfo({
    version: 1,
    sid: new IssuerAndSerialNumber({ issuer: certificate.issuer, serialNumber: certificate.serialNumber }),
    digestAlgorithm: new AlgorithmIdentifier({ algorithmId: digestIds[digest] }),
    signatureAlgorithm: signatureAlgorithmOf(key, digest),
    signature: new OctetString({ valueHex: bufferOf(sign(digestOf(key, digest), signed, key)) }),
    ...(hasAttributes ? { signedAttrs: attributes } : {}),
  })
  const data = new SignedData({
    version: 1,
    encapContentInfo: new EncapsulatedContentInfo({
      eContentType: '1.2.840.113549.1.7.1',
      ...(options.isAttached === true ? { eContent: new OctetString({ valueHex: bufferOf(content) }) } : {}),
    }),
    digestAlgorithms: [new AlgorithmIdentifier({ algorithmId: digestIds[digest] })],
    signerInfos: [info],
    certificates: [...(hasSigner ? [signer] : []), ...certificates].map((one) => one.certificate),
  })
  const outer = new ContentInfo({ contentType: '1.2.840.113549.1.7.2', content: data.toSchema(true) })
  return pemOf('CMS', Buffer.from(outer.toSchema().toBER()))
}

const digestIds = {
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
} as const

function keysOf({ keyType = 'ec', rsaBits = 2048, exponent = 65_537, sameKeyAs }: CertificateOptions) {
  if (sameKeyAs !== undefined) return { publicKey: createPublicKey(sameKeyAs.key), privateKey: sameKeyAs.key }
  if (keyType === 'rsa') return generateKeyPairSync('rsa', { modulusLength: rsaBits, publicExponent: exponent })
  if (keyType === 'ed25519') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

function digestOf({ asymmetricKeyType }: KeyObject, digest: string): string | null {
  return asymmetricKeyType === 'ed25519' ? null : digest
}

function signatureAlgorithmOf({ asymmetricKeyType }: KeyObject, digest: keyof typeof digestIds = 'sha256') {
  const index = { sha256: 0, sha384: 1, sha512: 2 }[digest]
  if (asymmetricKeyType === 'ed25519') return new AlgorithmIdentifier({ algorithmId: '1.3.101.112' })
  const algorithmId =
    asymmetricKeyType === 'rsa' ? `1.2.840.113549.1.1.${11 + index}` : `1.2.840.10045.4.3.${2 + index}`
  return new AlgorithmIdentifier({ algorithmId })
}

function commonName(value: string): AttributeTypeAndValue {
  return new AttributeTypeAndValue({ type: '2.5.4.3', value: new PrintableString({ value }) })
}

function pemOf(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}

function schemaOf(der: Uint8Array) {
  return fromBER(bufferOf(der)).result
}
