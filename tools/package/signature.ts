import { createPrivateKey, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** The variable that names the file of the private key for signatures: Ed25519, PKCS #8, PEM. */
export const signingKeyVariable = 'MILLWRIGHT_SIGNING_KEY'

/** Returns the Ed25519 signature of a file. */
export function signatureOf(file: string, keyFile: string): Buffer {
  const key = createPrivateKey(readFileSync(keyFile))
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(
      `${signingKeyVariable} must name an Ed25519 key, but ${keyFile} contains a key of type ${key.asymmetricKeyType}: create one with "openssl genpkey -algorithm ed25519".`,
    )
  return sign(null, readFileSync(file), key)
}
