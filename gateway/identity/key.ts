import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { chmod, stat } from 'node:fs/promises'
import type { GatewayKey } from '@millwright/api/onboarding.ts'
import { calculateJwkThumbprint } from 'jose'
import { readIfExists, writeDurably } from '../durable-file.ts'
import { SetupError } from '../setup-error.ts'

/** `OwnKey` is the key pair of the gateway. The private key is created on this machine and never leaves it. */
export type OwnKey = { privateKey: KeyObject; publicKey: GatewayKey; thumbprint: string }

/** The file mode of the private key: only its owner can read it. */
const ownerOnly = 0o600

/** Reads the key, or creates it at the first start. */
export async function ownKey(file: string): Promise<OwnKey> {
  const written = await readIfExists(file)
  if (written === undefined) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await writeDurably(file, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), { mode: ownerOnly })
    return describeKey(privateKey)
  }
  if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, ownerOnly)
  try {
    return await describeKey(createPrivateKey(written))
  } catch (error) {
    throw new SetupError(
      `${file} is not a valid gateway key: restore the file, or delete it and enrol again with a new gateway-config.json.`,
      { cause: error },
    )
  }
}

async function describeKey(privateKey: KeyObject): Promise<OwnKey> {
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: 'jwk' })
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined) throw new TypeError('not a P-256 key')
  const publicKey: GatewayKey = { kty, crv, x, y }
  return { privateKey, publicKey, thumbprint: await calculateJwkThumbprint(publicKey) }
}
