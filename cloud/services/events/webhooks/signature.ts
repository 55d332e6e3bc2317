import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

/** Signatures of Standard Webhooks: HMAC-SHA256 of the id, the time and the body of a request. */

const secretPrefix = 'whsec_'
const secretBytes = 32

/** Returns a new signing secret in the form in which receivers configure it. */
export function newSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64')
}

/** Returns the key of a signing secret. */
export function signingKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.slice(secretPrefix.length), 'base64'))
}

/** Returns the header `webhook-signature`, with one signature for each key. `timestamp` is in seconds since 1970. */
export function signatureOf(
  keys: readonly KeyObject[],
  { id, timestamp, body }: { id: string; timestamp: number; body: string },
): string {
  const content = `${id}.${timestamp}.${body}`
  return keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`).join(' ')
}
