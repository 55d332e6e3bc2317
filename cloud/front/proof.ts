import { createHash } from 'node:crypto'
import { proofHeader, proofType } from '@millwright/api/token.ts'
import { calculateJwkThumbprint, EmbeddedJWK, type JWTHeaderParameters, jwtVerify } from 'jose'
import type { Arrival } from '../platform/http/arrival.ts'
import { refused } from './token.ts'

/** How far the clock of a gateway may be off; as long a proof is remembered, so that it counts once. */
const windowSeconds = 60
const remembered = 100_000
const longestProof = 4_096

type Bound = { token: string; thumbprint: string }

/**
 * A token that is bound to a key counts only with a proof of that key, made for this very request (RFC 9449, except that
 * the token is still sent as a bearer token): whoever steals the token alone can do nothing with it.
 */
export class ProofVerifier {
  readonly #baseUrl: () => string
  /** Proofs that were used, with when they are forgotten, oldest first. */
  readonly #used = new Map<string, number>()

  constructor({ baseUrl }: { baseUrl: () => string }) {
    this.#baseUrl = baseUrl
  }

  async require(arrival: Arrival, { token, thumbprint }: Bound): Promise<void> {
    const proof = arrival.headers[proofHeader]
    if (typeof proof !== 'string') throw refused('it is bound to a key: send a proof of it in the header DPoP')
    if (proof.length > longestProof) throw refused(`a proof has at most ${longestProof} bytes`)
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: ['ES256'],
      typ: proofType,
      requiredClaims: ['iat', 'jti', 'htm', 'htu', 'ath'],
    }).catch(() => {
      throw refused('its proof cannot be verified')
    })
    await requireKey(protectedHeader, thumbprint)
    if (payload.htm !== arrival.method) throw refused('its proof is for another method')
    if (withoutQuery(String(payload.htu)) !== this.#addressOf(arrival))
      throw refused('its proof is for another address')
    if (payload.ath !== createHash('sha256').update(token).digest('base64url'))
      throw refused('its proof is for another token')
    const now = Math.floor(Date.now() / 1000)
    if (Math.abs(now - (payload.iat ?? 0)) > windowSeconds)
      throw refused(`its proof was made at another time: this clock says ${new Date(now * 1000).toISOString()}`)
    this.#useOnce(`${thumbprint} ${String(payload.jti).slice(0, 128)}`, now)
  }

  #addressOf({ url }: Arrival): string {
    return this.#baseUrl() + withoutQuery(url)
  }

  #useOnce(proof: string, now: number): void {
    for (const [old, until] of this.#used) {
      if (until > now && this.#used.size < remembered) break
      this.#used.delete(old)
    }
    if (this.#used.has(proof)) throw refused('its proof was used before')
    this.#used.set(proof, now + 2 * windowSeconds)
  }
}

async function requireKey({ jwk }: JWTHeaderParameters, thumbprint: string): Promise<void> {
  if (jwk !== undefined && (await calculateJwkThumbprint(jwk, 'sha256')) === thumbprint) return
  throw refused('its proof is of another key')
}

function withoutQuery(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? ''
}
