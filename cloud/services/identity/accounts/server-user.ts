import { randomBytes } from 'node:crypto'

const clientIds = /^su_[a-z0-9]{20}$/
const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789'
const clientIdCharacters = 20

/** Readable, and without characters that are taken for each other when somebody types it from a screen. */
export function createClientId(): string {
  const characters = Array.from(randomBytes(clientIdCharacters), (byte) => alphabet[byte % alphabet.length])
  return `su_${characters.join('')}`
}

export function isClientId(text: string): boolean {
  return clientIds.test(text)
}

/** 256 random bits. The prefix lets secret scanners recognise one that was published by mistake. */
export function createClientSecret(): string {
  return `mws_${randomBytes(32).toString('base64url')}`
}
