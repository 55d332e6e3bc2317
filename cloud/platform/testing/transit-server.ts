import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Starts a transit engine with the documented API of Vault and OpenBao. It has only the parts that the platform uses:
 * encrypt, decrypt, rewrap and rotate of one key. It really encrypts, checks token and namespace, and can be sealed.
 */
export async function startTransitServer({
  token,
  key,
  namespace,
}: {
  token: string
  key: string
  namespace?: string
}) {
  const versions = [randomBytes(32)]
  const requests: string[] = []
  const state = { isSealed: false }

  const encrypt = (plaintext: string) => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', versions.at(-1) ?? Buffer.alloc(32), nonce)
    const parts = [nonce, cipher.update(Buffer.from(plaintext, 'base64')), cipher.final(), cipher.getAuthTag()]
    return `vault:v${versions.length}:${Buffer.concat(parts).toString('base64')}`
  }
  const decrypt = (ciphertext: string) => {
    const [, version, text] = /^vault:v(\d+):(.+)$/.exec(ciphertext) ?? []
    const bytes = Buffer.from(text ?? '', 'base64')
    const decipher = createDecipheriv(
      'aes-256-gcm',
      versions[Number(version) - 1] ?? Buffer.alloc(32),
      bytes.subarray(0, 12),
    )
    decipher.setAuthTag(bytes.subarray(-16))
    return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('base64')
  }
  const answer = (path: string, body: { plaintext?: string; ciphertext?: string }): [number, object] => {
    if (path === `/v1/transit/keys/${key}/rotate`) {
      versions.push(randomBytes(32))
      return [200, { data: { latest_version: versions.length } }]
    }
    if (path === `/v1/transit/encrypt/${key}`) {
      return [200, { data: { ciphertext: encrypt(body.plaintext ?? ''), key_version: versions.length } }]
    }
    if (path === `/v1/transit/decrypt/${key}`) return [200, { data: { plaintext: decrypt(body.ciphertext ?? '') } }]
    if (path === `/v1/transit/rewrap/${key}`) {
      return [200, { data: { ciphertext: encrypt(decrypt(body.ciphertext ?? '')), key_version: versions.length } }]
    }
    return [404, { errors: [] }]
  }
  const respond = (request: IncomingMessage, body: string): [number, object] => {
    requests.push(`${request.method} ${request.url}`)
    if (state.isSealed) return [503, { errors: ['Vault is sealed'] }]
    const isKnown = request.headers['x-vault-token'] === token
    if (!isKnown || request.headers['x-vault-namespace'] !== namespace) return [403, { errors: ['permission denied'] }]
    try {
      return answer(request.url ?? '', JSON.parse(body === '' ? '{}' : body))
    } catch {
      return [400, { errors: ['invalid ciphertext: unable to decrypt'] }]
    }
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const [status, body] = respond(request, Buffer.concat(chunks).toString())
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
