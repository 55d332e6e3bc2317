import { randomBytes } from 'node:crypto'
import { signInLimits } from '@millwright/api/sign-in-security.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { hashOf } from '../oauth/opaque-token.ts'
import * as store from './factor-store.ts'

/** The characters of recovery codes. Characters that look alike are missing. Each character has 5 bits. */
const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789'
const groups = 4
const charactersPerGroup = 5
const shape = new RegExp(`^[${alphabet}]{${groups * charactersPerGroup}}$`)

/** Creates a code of 100 random bits. */
export function createRecoveryCode(): string {
  const characters = Array.from(randomBytes(groups * charactersPerGroup), (byte) => alphabet[byte % alphabet.length])
  return (characters.join('').match(/.{5}/g) ?? []).join('-')
}

/**
 * Returns the hash of a code that a user typed. Returns `undefined` if the text is not a recovery code. A plain hash is
 * enough, because random codes cannot be guessed.
 */
export function recoveryCodeHash(text: string): Buffer | undefined {
  const code = text.toLowerCase().replace(/[\s-]/g, '')
  return shape.test(code) ? hashOf(code) : undefined
}

/** Replaces the recovery codes of a user and returns the new codes. They cannot be read later. */
export async function renewRecoveryCodes(tx: Transaction, principalId: string): Promise<string[]> {
  const codes = Array.from({ length: signInLimits.recoveryCodes }, createRecoveryCode)
  const hashes = codes.flatMap((code) => recoveryCodeHash(code) ?? [])
  await store.replaceRecoveryCodes(tx, principalId, hashes)
  return codes
}

/** Creates recovery codes for a user who has none. Returns an empty list if the user has recovery codes. */
export async function firstRecoveryCodes(tx: Transaction, principalId: string): Promise<string[]> {
  return (await store.countRecoveryCodes(tx, principalId)) > 0 ? [] : renewRecoveryCodes(tx, principalId)
}
