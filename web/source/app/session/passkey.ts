import { Failure } from '../api/failure.ts'

/** This file calls the WebAuthn API of the browser. Options and responses have the JSON form of WebAuthn Level 3. */

type WebAuthnJson = Record<string, unknown>

/** Returns whether the browser has the WebAuthn API. It is available only in a secure context. */
export function hasPasskeySupport(): boolean {
  return typeof PublicKeyCredential === 'function' && 'parseCreationOptionsFromJSON' in PublicKeyCredential
}

/** Creates a passkey with a security key, a phone or this computer. */
export function createPasskey(options: WebAuthnJson): Promise<WebAuthnJson> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  )
  return responseOf(navigator.credentials.create({ publicKey }))
}

/** Proves with a passkey that the user is present. */
export function requestPasskey(options: WebAuthnJson): Promise<WebAuthnJson> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  )
  return responseOf(navigator.credentials.get({ publicKey }))
}

/** The code of a failure of the passkey itself: the user cancelled the request, or the time is over. */
export const passkeyCancelled = 'passkey_cancelled'
/** The code of a failure to create a passkey on a device that already has one. */
export const passkeyPresent = 'passkey_present'

async function responseOf(request: Promise<Credential | null>): Promise<WebAuthnJson> {
  try {
    const credential = await request
    if (credential instanceof PublicKeyCredential) return credential.toJSON() as unknown as WebAuthnJson
  } catch (error) {
    if (!(error instanceof DOMException)) throw error
    if (error.name === 'InvalidStateError') {
      throw new Failure({ title: 'Passkey already added', code: passkeyPresent })
    }
    if (error.name !== 'NotAllowedError' && error.name !== 'AbortError') throw error
  }
  throw new Failure({ title: 'Passkey request cancelled', code: passkeyCancelled })
}
