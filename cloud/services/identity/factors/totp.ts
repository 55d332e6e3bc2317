import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'
import type { SealedColumn } from '../../../platform/secrets/sealed-column.ts'

/**
 * Time-based one-time passwords of authenticator apps (RFC 6238). All apps support these parameters; many apps ignore
 * others.
 */
const parameters = { algorithm: 'SHA1', digits: 6, period: 30 } as const
/** The number of time steps before and after the current one that are accepted, because clocks differ. */
const window = 1
const secretBytes = 20

export function createTotpSecret(): Buffer {
  return randomBytes(secretBytes)
}

export type TotpSetup = {
  /** The secret in base32. */
  secret: string
  uri: string
  /** The URI as a QR code (SVG). */
  qrCode: string
}

/** Returns what the user needs to add the secret to an authenticator app. */
export function totpSetup(secret: Uint8Array, { account, host }: { account: string; host: string }): TotpSetup {
  const totp = new TOTP({ ...parameters, secret: secretOf(secret), issuer: `Millwright ${host}`, label: account })
  const uri = totp.toString()
  return { secret: totp.secret.base32, uri, qrCode: renderSVG(uri, { pixelSize: 4, border: 4 }) }
}

/** Returns the time step to which a code belongs. Returns `undefined` for a wrong or expired code. */
export function stepOf(secret: Uint8Array, code: string, now: number): number | undefined {
  const offset = TOTP.validate({ ...parameters, secret: secretOf(secret), token: code, timestamp: now, window })
  return offset === null ? undefined : TOTP.counter({ period: parameters.period, timestamp: now }) + offset
}

/** Returns the code in a text that a user typed. Returns `undefined` if the text is not a code of an authenticator app. */
export function readTotpCode(text: string): string | undefined {
  const code = text.replace(/\s/g, '')
  return /^[0-9]{6}$/.test(code) ? code : undefined
}

function secretOf(bytes: Uint8Array): Secret {
  return new Secret({ buffer: new Uint8Array(bytes).buffer })
}

/** Returns the owner to which the sealed secret of a user is bound. */
export function totpOwner(principalId: string): string {
  return `totp/${principalId}`
}

export const sealedTotpSecrets: readonly SealedColumn[] = [
  {
    of: 'tenant',
    table: 'totp_secrets',
    column: 'sealed_secret',
    key: ['principal_id'],
    belongsTo: ({ principal_id = '' }) => totpOwner(principal_id),
  },
  {
    of: 'tenant',
    table: 'pending_sign_ins',
    column: 'sealed_totp_secret',
    key: ['hash'],
    boundTo: ['principal_id'],
    belongsTo: ({ principal_id = '' }) => totpOwner(principal_id),
  },
]
