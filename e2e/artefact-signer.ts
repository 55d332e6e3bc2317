import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** `Signer` signs artefacts like the program minisign. */
export class Signer {
  readonly #privateKey: KeyObject
  readonly #id = randomBytes(8)
  readonly publicKey: string

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    this.#privateKey = privateKey
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
    this.publicKey = Buffer.concat([Buffer.from('Ed'), this.#id, raw]).toString('base64')
  }

  signatureOf(content: Buffer): string {
    const bytes = sign(undefined, createHash('blake2b512').update(content).digest(), this.#privateKey)
    const comment = 'release'
    const global = sign(undefined, Buffer.concat([bytes, Buffer.from(comment)]), this.#privateKey)
    return [
      'untrusted comment: signature of the plant',
      Buffer.concat([Buffer.from('ED'), this.#id, bytes]).toString('base64'),
      `trusted comment: ${comment}`,
      global.toString('base64'),
      '',
    ].join('\n')
  }
}
