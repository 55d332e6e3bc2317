import { randomBytes } from 'node:crypto'
import type { Secrets } from '../../../platform/secrets/secrets.ts'

/**
 * `FormProof` proves that a sign-in form comes from the server's own page, in the same browser, for the same request.
 * Without the proof, a page of another site could sign a user in as the attacker, or send password guesses.
 */
export type FormProof = {
  /** The part that the browser stores in a cookie. */
  browser: string
  /** The part that the form contains. */
  proof: string
}

const purpose = 'sign-in form'
/** The time for which a form is valid. */
const validSeconds = 3_600
const browserValue = /^[A-Za-z0-9_-]{43}$/

/**
 * Creates a proof. If the browser already has a cookie value, it is reused, so that forms in several tabs stay valid.
 */
export function createFormProof(secrets: Secrets, query: string, browserId: string | undefined): FormProof {
  const browser = browserValue.test(browserId ?? '') ? String(browserId) : randomBytes(32).toString('base64url')
  const time = Math.floor(Date.now() / 1000)
  return { browser, proof: `${time}.${secrets.mac(purpose, message({ browser, query, time })).toString('base64url')}` }
}

type FormProofInput = { browser: string | undefined; proof: string | undefined; query: string }

export function isFormProof(secrets: Secrets, { browser, proof, query }: FormProofInput, now = Date.now()): boolean {
  const match = /^(\d{1,12})\.([A-Za-z0-9_-]{43})$/.exec(proof ?? '')
  if (match === null || browser === undefined || !browserValue.test(browser)) return false
  const time = Number(match[1])
  const age = now / 1000 - time
  if (age > validSeconds || age < -validSeconds) return false
  return secrets.isMac(purpose, message({ browser, query, time }), Buffer.from(String(match[2]), 'base64url'))
}

function message({ browser, query, time }: { browser: string; query: string; time: number }): string {
  return `${time} ${browser} ${query}`
}
