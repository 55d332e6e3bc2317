import { createHash, randomBytes } from 'node:crypto'

/**
 * Session cookies, authorization codes and refresh tokens: 256 random bits behind the tenant they belong to, so that
 * they can be looked up within that tenant. What is stored is only the hash.
 */
export type OpaqueToken = { tenantId: string; hash: Buffer }

const shape = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})\.[A-Za-z0-9_-]{43}$/

export function createOpaqueToken(tenantId: string): OpaqueToken & { text: string } {
  const text = `${tenantId.replaceAll('-', '')}.${randomBytes(32).toString('base64url')}`
  return { text, tenantId, hash: hashOf(text) }
}

export function readOpaqueToken(text: string | undefined): OpaqueToken | undefined {
  const found = shape.exec(text ?? '')
  if (found === null || text === undefined) return undefined
  return { tenantId: found.slice(1).join('-'), hash: hashOf(text) }
}

/** A plain hash is enough for what is random: there is nothing to guess. */
export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
