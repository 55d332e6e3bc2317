import { createHash, randomBytes } from 'node:crypto'

/**
 * `OpaqueToken` is a session cookie, an authorization code or a refresh token. Its text is the tenant id followed by
 * 256 random bits. The tenant id allows a lookup within that tenant. Only the hash of the text is stored.
 */
export type OpaqueToken = { tenantId: string; hash: Buffer }

const shape = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})\.[A-Za-z0-9_-]{43}$/

export function createOpaqueToken(tenantId: string): OpaqueToken & { text: string } {
  const text = `${tenantId.replaceAll('-', '')}.${randomBytes(32).toString('base64url')}`
  return { text, tenantId, hash: hashOf(text) }
}

export function readOpaqueToken(text: string | undefined): OpaqueToken | undefined {
  const match = shape.exec(text ?? '')
  if (match === null || text === undefined) return undefined
  return { tenantId: match.slice(1).join('-'), hash: hashOf(text) }
}

/** Returns the hash of a token. A plain hash is enough, because random tokens cannot be guessed. */
export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
