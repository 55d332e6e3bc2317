import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import Value from 'typebox/value'
import { canonicalJson } from './canonical-json.ts'
import { GatewayKey } from './onboarding.ts'
import { Receipt, receiptText, type SignedReceipt } from './receipt.ts'
import { tokenAlgorithm } from './token.ts'

export function isReceipt(value: unknown): value is Receipt {
  return Value.Check(Receipt, value)
}

/** The key pair of a gateway. `thumbprint` is the RFC 7638 thumbprint of the public key. */
export type ReceiptKey = { privateKey: KeyObject; publicKey: GatewayKey; thumbprint: string }

/** Returns the receipt with its signature: a detached JWS (RFC 7515, appendix F) whose header contains the public key. */
export function signReceipt(receipt: Omit<SignedReceipt, 'signature'>, key: ReceiptKey): SignedReceipt {
  const { kty, crv, x, y } = key.publicKey
  const header = encoded(canonicalJson({ alg: tokenAlgorithm, jwk: { kty, crv, x, y }, kid: key.thumbprint }))
  const signature = sign('sha256', signedBytes(header, receipt), { key: key.privateKey, ...joseEncoding })
  return { ...receipt, signature: `${header}..${signature.toString('base64url')}` }
}

/**
 * The reasons why a receipt is not valid: it has no signature, its signature is not readable, or the receipt does not
 * match its signature.
 */
export type ReceiptFault = 'unsigned' | 'unreadable_signature' | 'changed'

/**
 * The result of a check. `thumbprint` names the key of the signature. It proves nothing until it is compared with the
 * thumbprint of the gateway's key, because anyone can sign a receipt with a new key.
 */
export type ReceiptCheck =
  | { isValid: true; thumbprint: string }
  | { isValid: false; reason: ReceiptFault; thumbprint?: string }

/** Checks the signature of a receipt, without the platform. The order of the fields does not matter. */
export function verifyReceipt(receipt: object): ReceiptCheck {
  const signature = 'signature' in receipt ? receipt.signature : undefined
  if (signature === undefined) return { isValid: false, reason: 'unsigned' }
  const parts = typeof signature === 'string' ? partsOf(signature) : undefined
  if (parts === undefined) return { isValid: false, reason: 'unreadable_signature' }
  const { header, key, thumbprint, bytes } = parts
  return verify('sha256', signedBytes(header, receipt), { key, ...joseEncoding }, bytes)
    ? { isValid: true, thumbprint }
    : { isValid: false, reason: 'changed', thumbprint }
}

/** JWS uses the plain numbers of an ECDSA signature, not their ASN.1 encoding. */
const joseEncoding = { dsaEncoding: 'ieee-p1363' } as const

function signedBytes(header: string, receipt: object): Buffer {
  return Buffer.from(`${header}.${encoded(receiptText(receipt))}`)
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url')
}

type SignatureParts = { header: string; key: KeyObject; thumbprint: string; bytes: Buffer }

function partsOf(signature: string): SignatureParts | undefined {
  const [header = '', payload, written = '', ...rest] = signature.split('.')
  const bytes = Buffer.from(written, 'base64url')
  if (payload !== '' || rest.length > 0 || bytes.toString('base64url') !== written) return undefined
  try {
    const { alg, jwk, kid }: { alg?: unknown; jwk?: unknown; kid?: unknown } = JSON.parse(
      Buffer.from(header, 'base64url').toString(),
    )
    if (alg !== tokenAlgorithm || !Value.Check(GatewayKey, jwk)) return undefined
    const thumbprint = keyThumbprint(jwk)
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    return kid === thumbprint ? { header, key, thumbprint, bytes } : undefined
  } catch {
    return undefined
  }
}

/** Returns the thumbprint of a key (RFC 7638). */
export function keyThumbprint({ kty, crv, x, y }: GatewayKey): string {
  return createHash('sha256').update(canonicalJson({ kty, crv, x, y })).digest('base64url')
}
