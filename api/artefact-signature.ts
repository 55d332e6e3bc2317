import { createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto'
import { type Integer, ObjectIdentifier, OctetString } from 'asn1js'
import {
  BasicConstraints,
  type Certificate,
  Certificate as CertificateSchema,
  ContentInfo,
  IssuerAndSerialNumber,
  RSASSAPSSParams,
  SignedData,
  type SignerInfo,
} from 'pkijs'
import { isBase64 } from './base64.ts'
import { Problem, type ProblemCode } from './problem.ts'

/**
 * Detached signatures of artefacts. Two formats are supported: CMS (RFC 5652) in PEM format with signed attributes, and
 * minisign with a hashed content. Both sign a digest of the content, so that the content is read once, as a stream. The
 * platform and the gateways use the same functions. The input is not trusted: every list and every size has a limit.
 */

export type DigestName = 'sha256' | 'sha384' | 'sha512' | 'blake2b512'

/** The digests of a content. A signature needs one of them (see `digestsNeeded`). */
export type ContentDigests = { readonly [Name in DigestName]?: Uint8Array }

export type MinisignSignature = {
  readonly format: 'minisign'
  /** The id of the key, as minisign prints it. */
  readonly keyId: string
  readonly signature: Uint8Array
  readonly trustedComment: string
  readonly commentSignature: Uint8Array
}

export type CmsSignature = {
  readonly format: 'cms'
  readonly digest: 'sha256' | 'sha384' | 'sha512'
  /** The value of the attribute `messageDigest`. */
  readonly messageDigest: Uint8Array
  /** The signed attributes in the encoding that was signed. */
  readonly signedAttributes: Uint8Array
  readonly signature: Uint8Array
  readonly scheme: SignatureScheme
  readonly signer: SignerId
  readonly certificates: readonly SigningCertificate[]
}

export type ParsedSignature = CmsSignature | MinisignSignature

/** A certificate or a public key that a tenant trusts. */
export type SignatureAnchor = { id: string; format: 'certificate' | 'minisign-key'; publicKey: string }

export type SignatureResult =
  /** `notAfter` is the end of the validity of the certificates, if there are any. */
  | { state: 'valid'; signer: string; anchorId: string; notAfter?: Date }
  | { state: 'untrusted' | 'invalid'; detail: string; signer?: string }

export type ParsedAnchor = {
  format: SignatureAnchor['format']
  /** The certificate or the key in its usual form, without comments. */
  publicKey: string
  fingerprint: string
  subject?: string
  notAfter?: Date
}

type SignatureScheme = 'rsa' | 'rsa-pss' | 'ecdsa' | 'ed25519'
type SignerId = { issuer: string; serialNumber: string } | { keyId: string }
type SigningCertificate = { readonly x509: X509Certificate; readonly parsed: Certificate }

const certificateLimit = 16
/** The maximum number of certificates between the signer and the trust anchor, both included. */
const chainLimit = 6
const commentLimit = 8 * 1024
const smallestRsaBits = 2048
/** The limits of RSA keys. The check of one signature with a larger key or exponent takes a long time. */
const largestRsaBits = 8192
const largestExponent = 2n ** 31n
/** The maximum length of the name of a certificate in texts. */
const nameLimit = 500

const oid = {
  signedData: '1.2.840.113549.1.7.2',
  data: '1.2.840.113549.1.7.1',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  anyExtendedKeyUsage: '2.5.29.37.0',
  rsaPss: '1.2.840.113549.1.1.10',
  mgf1: '1.2.840.113549.1.1.8',
} as const

const digestsByOid: Readonly<Record<string, CmsSignature['digest']>> = {
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
}

/** The signature algorithms of signer infos, with the digest if the algorithm names it. */
const schemes: Readonly<Record<string, { scheme: SignatureScheme; digest?: CmsSignature['digest'] }>> = {
  '1.2.840.113549.1.1.1': { scheme: 'rsa' },
  '1.2.840.113549.1.1.11': { scheme: 'rsa', digest: 'sha256' },
  '1.2.840.113549.1.1.12': { scheme: 'rsa', digest: 'sha384' },
  '1.2.840.113549.1.1.13': { scheme: 'rsa', digest: 'sha512' },
  [oid.rsaPss]: { scheme: 'rsa-pss' },
  '1.2.840.10045.4.3.2': { scheme: 'ecdsa', digest: 'sha256' },
  '1.2.840.10045.4.3.3': { scheme: 'ecdsa', digest: 'sha384' },
  '1.2.840.10045.4.3.4': { scheme: 'ecdsa', digest: 'sha512' },
  '1.3.101.112': { scheme: 'ed25519', digest: 'sha512' },
}

/** The extensions that can be critical. A certificate with another critical extension is not accepted. */
const understoodExtensions: ReadonlySet<string> = new Set([
  oid.basicConstraints,
  oid.keyUsage,
  oid.extendedKeyUsage,
  '2.5.29.14', // subject key identifier
  '2.5.29.15', // key usage
  '2.5.29.17', // subject alternative name
  '2.5.29.32', // certificate policies
  '2.5.29.35', // authority key identifier
])

/** Parses a detached signature. Throws `invalid_signature` if its format is not supported. */
export function parseSignature(text: string): ParsedSignature {
  if (/^\s*-----BEGIN /.test(text)) return parseCms(text)
  if (/^(?:untrusted comment:|R[UW])/.test(text)) return parseMinisign(text)
  throw invalid('The signature is neither CMS in PEM format nor a minisign signature')
}

/** Returns the digests of the content that a signature needs. */
export function digestsNeeded(parsed: ParsedSignature): DigestName[] {
  return [parsed.format === 'cms' ? parsed.digest : 'blake2b512']
}

/**
 * Checks a signature. `invalid`: it does not match the content. `untrusted`: it matches, or cannot be compared, but no
 * trust anchor confirms it at this time.
 */
export function verifySignature(
  parsed: ParsedSignature,
  digests: ContentDigests,
  anchors: readonly SignatureAnchor[],
  at: Date,
): SignatureResult {
  return parsed.format === 'cms'
    ? verifyCms(parsed, digests, { anchors, at })
    : verifyMinisign(parsed, digests, anchors)
}

/** Parses a trust anchor: a certificate in PEM format or a public key of minisign. Throws `invalid_trust_anchor`. */
export function parseTrustAnchor(text: string): ParsedAnchor {
  if (!text.includes('-----BEGIN ')) return parseMinisignKey(text)
  const blocks = pemBlocks(text, 'invalid_trust_anchor')
  const [block] = blocks
  if (blocks.length !== 1 || block?.label !== 'CERTIFICATE')
    throw new Problem(
      'invalid_trust_anchor',
      'The text must contain exactly one certificate in PEM format. Create a trust anchor for each certificate',
    )
  const { x509, parsed } = certificateOf(block.bytes, 'invalid_trust_anchor')
  const weakness = weaknessOf({ x509, parsed })
  if (weakness !== undefined) throw new Problem('invalid_trust_anchor', weakness)
  return {
    format: 'certificate',
    publicKey: x509.toString(),
    fingerprint: x509.fingerprint256,
    subject: nameOf(x509),
    notAfter: x509.validToDate,
  }
}

function parseMinisignKey(text: string): ParsedAnchor {
  const lines = text.trim().split(/\r?\n/)
  const line = lines.at(-1)?.trim() ?? ''
  const bytes = lines.length <= 2 ? decoded(line, 42) : undefined
  if (bytes === undefined || bytes.toString('latin1', 0, 2) !== 'Ed')
    throw new Problem(
      'invalid_trust_anchor',
      'The text is neither a certificate in PEM format nor a public key of minisign',
    )
  return { format: 'minisign-key', publicKey: line, fingerprint: keyIdOf(bytes.subarray(2, 10)) }
}

function parseMinisign(text: string): MinisignSignature {
  if (text.length > commentLimit) throw invalid(`A minisign signature has at most ${commentLimit} characters`)
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  const [comment, first = '', trusted = '', last = ''] = lines
  if (lines.length !== 4 || comment?.startsWith('untrusted comment:') !== true)
    throw invalid('A minisign signature has four lines. Send the whole content of the .minisig file')
  const signature = decoded(first, 74)
  const commentSignature = decoded(last, 64)
  const trustedPrefix = 'trusted comment: '
  if (signature === undefined || commentSignature === undefined || !trusted.startsWith(trustedPrefix))
    throw invalid('The minisign signature is damaged. Send the whole content of the .minisig file')
  const algorithm = signature.toString('latin1', 0, 2)
  if (algorithm === 'Ed')
    throw invalid(
      'The minisign signature signs the content and not its hash (legacy format). Sign the content again with minisign 0.10 or later',
    )
  if (algorithm !== 'ED') throw invalid('The algorithm of the minisign signature is not supported')
  return {
    format: 'minisign',
    keyId: keyIdOf(signature.subarray(2, 10)),
    signature: signature.subarray(10),
    trustedComment: trusted.slice(trustedPrefix.length),
    commentSignature,
  }
}

/** Returns the id of a key as minisign prints it. */
function keyIdOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).reverse().toString('hex').toUpperCase()
}

function verifyMinisign(
  { keyId, signature, trustedComment, commentSignature }: MinisignSignature,
  { blake2b512 }: ContentDigests,
  anchors: readonly SignatureAnchor[],
): SignatureResult {
  if (blake2b512 === undefined) throw new TypeError('The BLAKE2b digest of the content is missing')
  const keys = anchors.flatMap(({ id, format, publicKey }) => {
    const bytes = format === 'minisign-key' ? decoded(publicKey, 42) : undefined
    return bytes !== undefined && keyIdOf(bytes.subarray(2, 10)) === keyId ? [{ id, key: ed25519Key(bytes) }] : []
  })
  if (keys.length === 0)
    return { state: 'untrusted', signer: keyId, detail: `No trust anchor has the minisign key ${keyId}` }
  // The id of a key is not unique, so that each key with the id is tried.
  const signing = keys.find(({ key }) => verify(null, blake2b512, key, signature))
  if (signing === undefined)
    return { state: 'invalid', signer: keyId, detail: 'The minisign signature does not match the content' }
  const signedComment = Buffer.concat([signature, Buffer.from(trustedComment)])
  if (!verify(null, signedComment, signing.key, commentSignature))
    return { state: 'invalid', signer: keyId, detail: 'The trusted comment of the minisign signature was changed' }
  return { state: 'valid', signer: keyId, anchorId: signing.id }
}

const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex')

function ed25519Key(minisignKey: Buffer): KeyObject {
  const der = Buffer.concat([ed25519Prefix, minisignKey.subarray(10)])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

function parseCms(text: string): CmsSignature {
  const blocks = pemBlocks(text, 'invalid_signature')
  const [block] = blocks
  if (blocks.length !== 1 || (block?.label !== 'CMS' && block?.label !== 'PKCS7'))
    throw invalid('The text must contain exactly one PEM block with the label CMS or PKCS7')
  try {
    return cmsOf(block.bytes)
  } catch (error) {
    // The library throws errors of many kinds for damaged input.
    if (error instanceof Problem) throw error
    throw new Problem('invalid_signature', 'The CMS signature is damaged. Sign the content again', { cause: error })
  }
}

function cmsOf(bytes: Uint8Array): CmsSignature {
  const outer = ContentInfo.fromBER(bufferOf(bytes))
  if (outer.contentType !== oid.signedData) throw invalid('The CMS content is not signed data')
  const data = new SignedData({ schema: outer.content })
  if (data.encapContentInfo.eContent !== undefined)
    throw invalid('The CMS signature contains the content. Create a detached signature')
  const [info] = data.signerInfos
  if (info === undefined || data.signerInfos.length !== 1)
    throw invalid('The CMS signature must have exactly one signer')
  const encoded = (data.certificates ?? []).map((certificate) => {
    if (certificate instanceof CertificateSchema) return certificate
    throw invalid('The CMS signature contains a certificate of a format that is not supported')
  })
  if (encoded.length > certificateLimit)
    throw invalid(`The CMS signature has more than ${certificateLimit} certificates. Send only those of the signer`)
  const digest = digestsByOid[info.digestAlgorithm.algorithmId]
  if (digest === undefined) throw invalid('The digest of the CMS signature must be SHA-256, SHA-384 or SHA-512')
  const attributes = info.signedAttrs?.attributes ?? []
  if (info.signedAttrs === undefined || attributes.length === 0)
    throw invalid('The CMS signature has no signed attributes. Sign with signed attributes')
  const value = (type: string): unknown => {
    const found = attributes.filter((attribute) => attribute.type === type)
    const [first] = found
    if (found.length === 1 && first?.values.length === 1) return first.values[0]
    throw invalid(`The CMS signature must have the signed attribute ${type} exactly once`)
  }
  const contentType = value(oid.contentType)
  const isData = contentType instanceof ObjectIdentifier && contentType.valueBlock.toString() === oid.data
  if (!isData || data.encapContentInfo.eContentType !== oid.data)
    throw invalid('The content type of the CMS signature must be data')
  const messageDigest = value(oid.messageDigest)
  if (!(messageDigest instanceof OctetString)) throw invalid('The message digest of the CMS signature is damaged')
  return {
    format: 'cms',
    digest,
    messageDigest: new Uint8Array(messageDigest.getValue()),
    signedAttributes: new Uint8Array(info.signedAttrs.encodedValue),
    signature: new Uint8Array(info.signature.getValue()),
    scheme: schemeOf(info, digest),
    signer: signerOf(info),
    certificates: encoded.map((certificate) =>
      certificateOf(new Uint8Array(certificate.toSchema().toBER()), 'invalid_signature'),
    ),
  }
}

function schemeOf({ signatureAlgorithm }: SignerInfo, digest: CmsSignature['digest']): SignatureScheme {
  const known = schemes[signatureAlgorithm.algorithmId]
  if (known === undefined) throw invalid('The algorithm of the CMS signature must be RSA, ECDSA or Ed25519')
  if (known.digest !== undefined && known.digest !== digest)
    throw invalid('The digest and the signature algorithm of the CMS signature do not agree')
  if (known.scheme !== 'rsa-pss') return known.scheme
  const { hashAlgorithm, maskGenAlgorithm } = new RSASSAPSSParams({ schema: signatureAlgorithm.algorithmParams })
  const maskHash = (maskGenAlgorithm.algorithmParams as { valueBlock?: { value?: unknown[] } } | undefined)?.valueBlock
    ?.value?.[0]
  const agrees =
    digestsByOid[hashAlgorithm.algorithmId] === digest &&
    maskGenAlgorithm.algorithmId === oid.mgf1 &&
    maskHash instanceof ObjectIdentifier &&
    digestsByOid[maskHash.valueBlock.toString()] === digest
  if (!agrees) throw invalid('The parameters of the RSA-PSS signature are not supported')
  return 'rsa-pss'
}

function signerOf({ sid }: SignerInfo): SignerId {
  if (sid instanceof IssuerAndSerialNumber)
    return { issuer: hexOf(sid.issuer.toSchema().toBER()), serialNumber: serialOf(sid.serialNumber) }
  const value = sid as unknown
  if (value instanceof OctetString) return { keyId: hexOf(value.getValue()) }
  const view = (value as { valueBlock?: { valueHexView?: Uint8Array } } | undefined)?.valueBlock?.valueHexView
  if (view !== undefined && view.length > 0) return { keyId: hexOf(view) }
  throw invalid('The signer of the CMS signature is not named')
}

function serialOf(serialNumber: Integer): string {
  return hexOf(serialNumber.valueBlock.valueHexView)
}

function isSigner({ parsed }: SigningCertificate, signer: SignerId): boolean {
  if ('serialNumber' in signer)
    return (
      serialOf(parsed.serialNumber) === signer.serialNumber && hexOf(parsed.issuer.toSchema().toBER()) === signer.issuer
    )
  const extension = parsed.extensions?.find(({ extnID }) => extnID === '2.5.29.14')
  const value = extension?.parsedValue as unknown
  return value instanceof OctetString && hexOf(value.getValue()) === signer.keyId
}

type Check = { anchors: readonly SignatureAnchor[]; at: Date }

function verifyCms(parsed: CmsSignature, digests: ContentDigests, { anchors, at }: Check): SignatureResult {
  const digest = digests[parsed.digest]
  if (digest === undefined) throw new TypeError(`The digest ${parsed.digest} of the content is missing`)
  if (!Buffer.from(parsed.messageDigest).equals(digest))
    return { state: 'invalid', detail: 'The CMS signature does not match the content' }
  const trusted = anchors.flatMap(({ id, format, publicKey }) => {
    if (format !== 'certificate') return []
    const [block] = pemBlocks(publicKey, 'invalid_trust_anchor')
    return block === undefined ? [] : [{ id, ...certificateOf(block.bytes, 'invalid_trust_anchor') }]
  })
  const certificate = [...parsed.certificates, ...trusted].find((candidate) => isSigner(candidate, parsed.signer))
  if (certificate === undefined)
    return {
      state: 'untrusted',
      detail: 'The certificate of the signer is neither in the signature nor a trust anchor',
    }
  const signer = nameOf(certificate.x509)
  if (!matchesKey(parsed, certificate.x509.publicKey))
    return { state: 'invalid', signer, detail: 'The CMS signature does not match its signed attributes' }
  const usage = usageProblemOf(certificate)
  if (usage !== undefined) return { state: 'untrusted', signer, detail: usage }
  const chain = chainTo(certificate, { trusted, others: parsed.certificates, at })
  if ('detail' in chain) return { state: 'untrusted', signer, detail: chain.detail }
  return { state: 'valid', signer, anchorId: chain.anchorId, notAfter: chain.notAfter }
}

function matchesKey({ scheme, digest, signedAttributes, signature }: CmsSignature, key: KeyObject): boolean {
  if (isSlow(key)) return false
  const types = { rsa: ['rsa'], 'rsa-pss': ['rsa', 'rsa-pss'], ecdsa: ['ec'], ed25519: ['ed25519'] }
  if (!types[scheme].includes(key.asymmetricKeyType ?? '')) return false
  if (scheme === 'ed25519') return verify(null, signedAttributes, key, signature)
  if (scheme !== 'rsa-pss') return verify(digest, signedAttributes, key, signature)
  // 6 is RSA_PKCS1_PSS_PADDING, and -2 accepts the length of the salt that the signature has.
  return verify(digest, signedAttributes, { key, padding: 6, saltLength: -2 }, signature)
}

/** Returns why a certificate cannot sign artefacts. Returns undefined if it can. */
function usageProblemOf({ x509, parsed }: SigningCertificate): string | undefined {
  const extended = x509.keyUsage
  if (extended !== undefined && !extended.includes(oid.codeSigning) && !extended.includes(oid.anyExtendedKeyUsage))
    return 'The certificate of the signer is not for code signing'
  const bits = keyUsageOf(parsed)
  // The first bit is digitalSignature, the second one is nonRepudiation.
  if (bits !== undefined && (bits & 0b1100_0000) === 0) return 'The certificate of the signer is not for signatures'
  return undefined
}

function keyUsageOf(certificate: Certificate): number | undefined {
  const extension = certificate.extensions?.find(({ extnID }) => extnID === oid.keyUsage)
  if (extension === undefined) return undefined
  const view = (extension.parsedValue as { valueBlock?: { valueHexView?: Uint8Array } } | undefined)?.valueBlock
  return view?.valueHexView?.[0] ?? 0
}

type TrustedCertificate = SigningCertificate & { id: string }
type Chain = { anchorId: string; notAfter: Date }
type ChainOptions = { trusted: readonly TrustedCertificate[]; others: readonly SigningCertificate[]; at: Date }

/** A certificate in a chain to the signer. `notAfter` is the earliest end of validity of the certificates so far. */
type Candidate = { certificate: SigningCertificate; notAfter: Date }

/**
 * Finds a chain of valid certificates from the signer to a trust anchor. Returns the reason if there is none. The search
 * considers each certificate once, in the shortest chain, because certificates that confirm each other can form a very large
 * number of chains.
 */
function chainTo(signer: SigningCertificate, { trusted, others, at }: ChainOptions): Chain | { detail: string } {
  let detail = 'No trust anchor confirms the certificate of the signer'
  const seen = new Set([signer.x509.fingerprint256])
  let level: Candidate[] = [{ certificate: signer, notAfter: signer.x509.validToDate }]
  for (let issued = 0; issued < chainLimit && level.length > 0; issued++) {
    const next: Candidate[] = []
    for (const { certificate, notAfter } of level) {
      const { x509 } = certificate
      const problem = weaknessOf(certificate) ?? timeProblemOf(x509, at)
      if (problem !== undefined) {
        detail = problem
        continue
      }
      const same = trusted.find((anchor) => anchor.x509.fingerprint256 === x509.fingerprint256)
      if (same !== undefined) return { anchorId: same.id, notAfter }
      for (const issuer of [...trusted, ...others]) {
        const { fingerprint256, validToDate } = issuer.x509
        if (seen.has(fingerprint256) || !hasIssued(issuer, x509, issued)) continue
        seen.add(fingerprint256)
        next.push({ certificate: issuer, notAfter: earlier(validToDate, notAfter) })
      }
    }
    level = next
  }
  return { detail }
}

function earlier(one: Date, other: Date): Date {
  return new Date(Math.min(one.getTime(), other.getTime()))
}

/** Returns whether an authority has issued a certificate. `issued` is the number of authorities below this authority. */
function hasIssued({ x509, parsed }: SigningCertificate, certificate: X509Certificate, issued: number): boolean {
  if (!x509.ca || isSlow(x509.publicKey) || !certificate.checkIssued(x509)) return false
  if (!certificate.verify(x509.publicKey)) return false
  const extension = parsed.extensions?.find(({ extnID }) => extnID === oid.basicConstraints)?.parsedValue as unknown
  const limit = extension instanceof BasicConstraints ? extension.pathLenConstraint : undefined
  const longest = typeof limit === 'object' ? limit.valueBlock.valueDec : limit
  return longest === undefined || issued <= longest
}

function timeProblemOf(certificate: X509Certificate, at: Date): string | undefined {
  if (at < certificate.validFromDate)
    return `The certificate ${nameOf(certificate)} is valid from ${certificate.validFromDate.toISOString()}`
  if (at > certificate.validToDate)
    return `The certificate ${nameOf(certificate)} expired at ${certificate.validToDate.toISOString()}`
  return undefined
}

/** Returns why a certificate is not accepted independently of its use. */
function weaknessOf({ x509, parsed }: SigningCertificate): string | undefined {
  const unknown = parsed.extensions?.find(({ critical, extnID }) => critical && !understoodExtensions.has(extnID))
  if (unknown !== undefined)
    return `The certificate ${nameOf(x509)} has the critical extension ${unknown.extnID}, which is not supported`
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = x509.publicKey
  const isRsa = type === 'rsa' || type === 'rsa-pss'
  if (isRsa && (details?.modulusLength ?? 0) < smallestRsaBits)
    return `The RSA key of the certificate ${nameOf(x509)} has less than ${smallestRsaBits} bits`
  if (isRsa && isSlow(x509.publicKey))
    return `The RSA key of the certificate ${nameOf(x509)} has more than ${largestRsaBits} bits or a large exponent`
  if (!isRsa && type !== 'ec' && type !== 'ed25519')
    return `The key of the certificate ${nameOf(x509)} must be RSA, EC or Ed25519`
  const isSelfIssued = x509.issuer === x509.subject
  // The signature of a root certificate proves nothing, so its algorithm does not matter.
  if (!isSelfIssued && schemes[parsed.signatureAlgorithm.algorithmId] === undefined)
    return `The certificate ${nameOf(x509)} is signed with an algorithm that is not supported, such as SHA-1`
  return undefined
}

function isSlow({ asymmetricKeyDetails: details }: KeyObject): boolean {
  return (details?.modulusLength ?? 0) > largestRsaBits || (details?.publicExponent ?? 0n) > largestExponent
}

function certificateOf(bytes: Uint8Array, code: ProblemCode): SigningCertificate {
  try {
    const x509 = new X509Certificate(bytes)
    const parsed = CertificateSchema.fromBER(bufferOf(bytes))
    // The key is parsed here, so that a damaged key is refused before it is used.
    if (x509.publicKey.type !== 'public') throw new TypeError('A certificate has a public key')
    return { x509, parsed }
  } catch (error) {
    throw new Problem(code, 'A certificate is damaged, or its key is not supported', { cause: error })
  }
}

/** Returns the subject of a certificate in one line. */
function nameOf({ subject, serialNumber }: X509Certificate): string {
  if (subject === '' || subject === undefined) return `serial number ${serialNumber.slice(0, nameLimit)}`
  const lines = subject.split('\n').map((line) => line.trim())
  return lines.join(', ').slice(0, nameLimit)
}

type PemBlock = { label: string; bytes: Buffer }

function pemBlocks(text: string, code: ProblemCode): PemBlock[] {
  const pattern = /-----BEGIN ([A-Z0-9 ]{1,64})-----\s([A-Za-z0-9+/=\s]*)-----END \1-----/g
  const blocks = [...text.matchAll(pattern)].map(([, label = '', body = '']) => {
    const bytes = decoded(body.replace(/\s+/g, ''))
    if (bytes === undefined || bytes.length === 0) throw new Problem(code, 'A PEM block is not valid base64')
    return { label, bytes }
  })
  if (blocks.length !== (text.match(/-----BEGIN /g)?.length ?? 0)) throw new Problem(code, 'A PEM block is damaged')
  return blocks
}

/** Decodes base64. Returns undefined if the text is not valid base64 or has another length. */
function decoded(text: string, length?: number): Buffer | undefined {
  if (!isBase64(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return length === undefined || bytes.length === length ? bytes : undefined
}

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}

function hexOf(bytes: ArrayBuffer | Uint8Array): string {
  return Buffer.from(bytes as Uint8Array).toString('hex')
}

function invalid(detail: string): Problem {
  return new Problem('invalid_signature', detail)
}
