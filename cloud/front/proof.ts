import { createHash } from 'node:crypto'
import type { Problem } from '@millwright/api/problem.ts'
import { proofHeader, proofType } from '@millwright/api/token.ts'
import { calculateJwkThumbprint, EmbeddedJWK, type JWTHeaderParameters, jwtVerify } from 'jose'
import { useOnce } from '../platform/access/token-store.ts'
import type { Database } from '../platform/database/database.ts'
import type { IncomingRequest } from '../platform/http/incoming-request.ts'
import { invalidToken } from './token.ts'

/** The allowed difference between the clocks of a gateway and the platform. */
const windowSeconds = 60
const longestProof = 4_096
const longestId = 128

type BoundToken = {
  token: string
  thumbprint: string
  tenantId: string
  /** True if another process of the platform has already verified and recorded the proof for the same request. */
  isForwarded: boolean
}

/**
 * `ProofVerifier` checks the proof of a token that is bound to a key (RFC 9449, except that the token is still sent as
 * a bearer token). A proof is valid for one method, one URL and one token, for a minute, and only once. Its use is
 * recorded in the database, so that another process refuses it too. This costs one small insert for each request of a
 * gateway.
 */
export class ProofVerifier {
  readonly #baseUrl: () => string
  readonly #database: Database

  constructor({ baseUrl, database }: { baseUrl: () => string; database: Database }) {
    this.#baseUrl = baseUrl
    this.#database = database
  }

  /**
   * Verifies the proof and stores nothing. The returned function records the use of the proof, and throws if it was
   * used before.
   */
  async verify(
    incoming: IncomingRequest,
    { token, thumbprint, tenantId, isForwarded }: BoundToken,
  ): Promise<() => Promise<void>> {
    const proof = incoming.headers[proofHeader]
    if (typeof proof !== 'string')
      throw invalidProof('it is bound to a key, but the request has no DPoP header with a proof of that key')
    if (proof.length > longestProof) throw invalidProof(`its proof is longer than ${longestProof} bytes`)
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: ['ES256'],
      typ: proofType,
      requiredClaims: ['iat', 'jti', 'htm', 'htu', 'ath'],
    }).catch(() => {
      throw invalidProof('its proof cannot be verified')
    })
    await requireKey(protectedHeader, thumbprint)
    if (payload.htm !== incoming.method) throw invalidProof('its proof is for another HTTP method')
    if (withoutQuery(String(payload.htu)) !== this.#addressOf(incoming))
      throw invalidProof('its proof is for another URL')
    if (payload.ath !== createHash('sha256').update(token).digest('base64url'))
      throw invalidProof('its proof is for another token')
    const now = Math.floor(Date.now() / 1000)
    const { iat = 0 } = payload
    if (Math.abs(now - iat) > windowSeconds)
      throw invalidProof(
        `the time of its proof differs by more than ${windowSeconds} seconds from the server time ${new Date(now * 1000).toISOString()}`,
      )
    const id = String(payload.jti)
    if (id.length > longestId) throw invalidProof(`the jti of its proof is longer than ${longestId} characters`)
    return async () => {
      if (isForwarded) return
      const use = { tenantId, signer: thumbprint, id, expiresAt: (iat + windowSeconds) * 1000 }
      if (!(await useOnce(this.#database, use))) throw invalidProof('its proof was already used')
    }
  }

  #addressOf({ url }: IncomingRequest): string {
    return this.#baseUrl() + withoutQuery(url)
  }
}

async function requireKey({ jwk }: JWTHeaderParameters, thumbprint: string): Promise<void> {
  if (jwk !== undefined && (await calculateJwkThumbprint(jwk, 'sha256')) === thumbprint) return
  throw invalidProof('its proof is signed with another key')
}

function invalidProof(why: string): Problem {
  return invalidToken(why, 'Send a new DPoP proof with the request')
}

function withoutQuery(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? ''
}
