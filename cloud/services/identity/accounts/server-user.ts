import { randomBytes } from 'node:crypto'

const clientIds = /^su_[a-z0-9]{20}$/
const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789'
const clientIdCharacters = 20

/** Creates a readable client id without characters that look alike. */
export function createClientId(): string {
  const characters = Array.from(randomBytes(clientIdCharacters), (byte) => alphabet[byte % alphabet.length])
  return `su_${characters.join('')}`
}

export function isClientId(text: string): boolean {
  return clientIds.test(text)
}

/**
 * Creates a client secret of 256 random bits. Secret scanners recognise its prefix if a user publishes the secret by
 * mistake.
 */
export function createClientSecret(): string {
  return `mws_${randomBytes(32).toString('base64url')}`
}
