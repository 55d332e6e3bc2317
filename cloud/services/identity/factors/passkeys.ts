import { randomBytes } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { PasskeyRow } from './factor-store.ts'

/** The checks of passkeys (WebAuthn Level 3). They read no data, so that the caller decides where the challenge is stored. */

/** A WebAuthn response or options in the JSON form of WebAuthn Level 3. */
export type WebAuthnJson = Record<string, unknown>

const challengeBytes = 32
const challengeSeconds = 300
const longestCredentialId = 1_023
const mostTransports = 10
/** The COSE numbers of the algorithms EdDSA, ES256 and RS256. */
const algorithms = [-8, -7, -257]

// The library is loaded on demand, because loading takes time and most processes check no passkey.
const loadLibrary = () => import('@simplewebauthn/server')
const loadHelpers = () => import('@simplewebauthn/server/helpers')

export type RelyingParty = { id: string; origin: string }

/**
 * Returns the relying party of the installation. Returns `undefined` if browsers allow no passkeys at the base URL: they
 * need https, or http at localhost, and a host name instead of an IP address.
 */
export function findRelyingParty(baseUrl: string): RelyingParty | undefined {
  const { protocol, hostname, origin } = new URL(baseUrl)
  const isAddress = /^[\d.]+$/.test(hostname) || hostname.startsWith('[')
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  return !isAddress && (protocol === 'https:' || isLocal) ? { id: hostname, origin } : undefined
}

export function getRelyingParty(baseUrl: string): RelyingParty {
  const party = findRelyingParty(baseUrl)
  if (party !== undefined) return party
  throw new Problem(
    'conflict',
    `Browsers do not allow passkeys at ${baseUrl}. Use an https address with a host name (MILLWRIGHT_BASE_URL), or an authenticator app`,
  )
}

export type Challenge = { challenge: string; expiresAt: string }

export function createChallenge(now: number): Challenge {
  const expiresAt = new Date(now + challengeSeconds * 1000).toISOString()
  return { challenge: randomBytes(challengeBytes).toString('base64url'), expiresAt }
}

type Owner = { principalId: string; account: string; displayName: string; passkeys: readonly PasskeyRow[] }

/** Returns the options with which a browser creates a passkey. */
export async function registrationOptions(party: RelyingParty, challenge: string, owner: Owner): Promise<WebAuthnJson> {
  const { generateRegistrationOptions } = await loadLibrary()
  const options = await generateRegistrationOptions({
    rpName: 'Millwright',
    rpID: party.id,
    userID: new Uint8Array(Buffer.from(owner.principalId)),
    userName: owner.account,
    userDisplayName: owner.displayName,
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    timeout: challengeSeconds * 1000,
    attestationType: 'none',
    excludeCredentials: owner.passkeys.map(descriptorOf),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
    supportedAlgorithmIDs: algorithms,
  })
  return { ...options }
}

/** Returns the options with which a browser uses one of the passkeys. */
export async function authenticationOptions(
  party: RelyingParty,
  challenge: string,
  passkeys: readonly PasskeyRow[],
): Promise<WebAuthnJson> {
  const { generateAuthenticationOptions } = await loadLibrary()
  const options = await generateAuthenticationOptions({
    rpID: party.id,
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    timeout: challengeSeconds * 1000,
    allowCredentials: passkeys.map(descriptorOf),
    userVerification: 'preferred',
  })
  return { ...options }
}

function descriptorOf({ credentialId, transports }: PasskeyRow) {
  return { id: credentialId.toString('base64url'), transports }
}

export type NewCredential = { credentialId: Buffer; publicKey: Buffer; signCount: number; transports: string[] }

type Ceremony = { party: RelyingParty; challenge: string | undefined; response: WebAuthnJson }

/** Checks the response of a browser that created a passkey. Throws `passkey_refused` if a check fails. */
export async function verifyRegistration({ party, challenge, response }: Ceremony): Promise<NewCredential> {
  const expectedChallenge = requireChallenge(challenge)
  const { verifyRegistrationResponse } = await loadLibrary()
  const helpers = await loadHelpers()
  return refusedOnError(async () => {
    const registration = response as unknown as RegistrationResponseJSON
    requireSameOrigin(registration.response.clientDataJSON, helpers)
    requireNoCertificates(registration.response.attestationObject, helpers)
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: registration,
      expectedChallenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: false,
      supportedAlgorithmIDs: algorithms,
    })
    if (!verified) throw new Error('The attestation is not valid')
    const { id, publicKey, counter } = registrationInfo.credential
    const credentialId = Buffer.from(id, 'base64url')
    if (credentialId.length > longestCredentialId) throw new Error('The credential id is too long')
    const transports = transportsOf(registration.response.transports)
    return { credentialId, publicKey: Buffer.from(publicKey), signCount: counter, transports }
  })
}

export type PasskeyUse = { id: string; signCount: number }

/**
 * Checks the response of a browser that used a passkey. Throws `passkey_refused` if a check fails, or if the passkey is
 * not one of the given passkeys.
 */
export async function verifyAuthentication(
  { party, challenge, response }: Ceremony,
  passkeys: readonly PasskeyRow[],
): Promise<PasskeyUse> {
  const expectedChallenge = requireChallenge(challenge)
  const { verifyAuthenticationResponse } = await loadLibrary()
  const helpers = await loadHelpers()
  return refusedOnError(async () => {
    const authentication = response as unknown as AuthenticationResponseJSON
    const passkey = passkeys.find(({ credentialId }) => credentialId.toString('base64url') === authentication.id)
    if (passkey === undefined) throw new Error('The passkey does not belong to the account')
    requireSameOrigin(authentication.response.clientDataJSON, helpers)
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: authentication,
      expectedChallenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: false,
      credential: {
        id: authentication.id,
        publicKey: new Uint8Array(passkey.publicKey),
        counter: passkey.signCount,
      },
    })
    if (!verified) throw new Error('The signature is not valid')
    return { id: passkey.id, signCount: authenticationInfo.newCounter }
  })
}

function requireChallenge(challenge: string | undefined): string {
  if (challenge !== undefined) return challenge
  throw new Problem('passkey_refused', 'The request for the passkey has expired or was already used. Try again')
}

type Helpers = Awaited<ReturnType<typeof loadHelpers>>

/** Refuses a passkey that was used in a frame of another site. */
function requireSameOrigin(clientData: string, { decodeClientDataJSON }: Helpers): void {
  if (decodeClientDataJSON(clientData).crossOrigin === true) throw new Error('The passkey was used in a foreign frame')
}

/**
 * Refuses attestation certificates. The platform requests none, and to check them, the library would connect to
 * addresses that the certificates name.
 */
function requireNoCertificates(attestationObject: string, { decodeAttestationObject }: Helpers): void {
  const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')))
  const format = attestation.get('fmt')
  const isSelfSigned = format === 'packed' && attestation.get('attStmt').get('x5c') === undefined
  if (format !== 'none' && !isSelfSigned) throw new Error(`The attestation format is ${format} instead of none`)
}

function transportsOf(transports: unknown): string[] {
  if (!Array.isArray(transports)) return []
  return transports.filter((each) => typeof each === 'string' && /^[a-z-]{1,32}$/.test(each)).slice(0, mostTransports)
}

async function refusedOnError<Result>(check: () => Promise<Result>): Promise<Result> {
  try {
    return await check()
  } catch (error) {
    const detail =
      'The passkey was not accepted. Use a passkey of your account in this browser, at the address of Millwright'
    throw new Problem('passkey_refused', detail, { cause: error })
  }
}
