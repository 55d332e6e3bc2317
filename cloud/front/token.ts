import { hash } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'
import { revocationIds, type TokenClaims, tokenAlgorithm, tokenAudience, tokenType } from '@millwright/api/token.ts'
import { decodeJwt, type JWK, type JWTHeaderParameters, jwtVerify } from 'jose'
import { LruMap } from 'toad-cache'
import { validate as isUuid } from 'uuid'
import type { GrantedRole } from '../platform/access/rights.ts'
import { limits } from '../platform/limits.ts'
import { KeyRing } from './key-ring.ts'

/** The claims of a valid token that the front needs. */
export type VerifiedToken = {
  tenantId: string
  principalId: string
  roles: readonly string[]
  /** Where the roles apply, for external tokens. For other tokens, roles apply wherever they are granted. */
  grants?: readonly GrantedRole[]
  /** The thumbprint of the key that every request must prove, if the token is bound to one. */
  keyThumbprint?: string
  /** The ids that can revoke a token of the platform's issuer. */
  ids?: readonly string[]
  /** Milliseconds since 1970. */
  expiresAt: number
  kid: string
}

/** An external issuer: recognizes and verifies its tokens. */
export type ForeignIssuer = { issuer: string; verify(token: string): Promise<VerifiedToken> }

type Options = {
  issuer: () => string
  keys: () => Promise<JWK[]>
  foreign: readonly ForeignIssuer[]
}

const cacheSize = 20_000
const clockToleranceSeconds = 5

/** `TokenVerifier` checks signature, issuer, audience, type and times of access tokens. The result is cached. */
export class TokenVerifier {
  readonly #options: Options
  readonly #keys: KeyRing
  /** By hash, so that a memory dump contains no additional usable tokens. */
  readonly #verified = new LruMap<VerifiedToken>(cacheSize)
  hits = 0
  misses = 0

  constructor(options: Options) {
    this.#options = options
    this.#keys = new KeyRing({ load: options.keys, onRemoved: (kid) => this.#forgetKey(kid) })
  }

  async verify(token: string): Promise<VerifiedToken> {
    if (token.length > limits.tokenBytes) throw refused(`a token has at most ${limits.tokenBytes} bytes`)
    const digest = hash('sha256', token, 'base64')
    const known = this.#verified.get(digest)
    if (known !== undefined && known.expiresAt > Date.now()) {
      this.hits++
      return known
    }
    this.misses++
    this.#verified.delete(digest)
    const verified = await this.#check(token)
    this.#verified.set(digest, verified)
    return verified
  }

  async #check(token: string): Promise<VerifiedToken> {
    try {
      const foreign = this.#options.foreign.find(({ issuer }) => issuer === claimedIssuer(token))
      return await (foreign === undefined ? this.#checkOwn(token) : foreign.verify(token))
    } catch (error) {
      if (error instanceof Problem) throw error
      throw refused(reason(error))
    }
  }

  async #checkOwn(token: string): Promise<VerifiedToken> {
    const { payload, protectedHeader } = await jwtVerify<TokenClaims>(token, (header) => this.#key(header), {
      algorithms: [tokenAlgorithm],
      typ: tokenType,
      issuer: this.#options.issuer(),
      audience: tokenAudience,
      requiredClaims: ['exp', 'iat', 'jti', 'sub', 'tenant', 'roles'],
      clockTolerance: clockToleranceSeconds,
    })
    if (!isUuid(payload.tenant) || !isUuid(payload.sub) || !Array.isArray(payload.roles))
      throw refused('its claims are not valid')
    return {
      tenantId: payload.tenant,
      principalId: payload.sub,
      roles: payload.roles,
      ids: revocationIds(payload),
      expiresAt: payload.exp * 1000,
      kid: protectedHeader.kid ?? '',
      ...(payload.cnf === undefined ? {} : { keyThumbprint: String(payload.cnf.jkt) }),
    }
  }

  async #key({ kid }: JWTHeaderParameters) {
    const key = kid === undefined ? undefined : await this.#keys.find(kid)
    if (key === undefined) throw refused('it is signed with an unknown key')
    return key
  }

  #forgetKey(kid: string): void {
    for (const [digest, { value }] of this.#verified.items) if (value.kid === kid) this.#verified.delete(digest)
  }
}

function claimedIssuer(token: string): string | undefined {
  return decodeJwt(token).iss
}

export function refused(why: string): Problem {
  const description = `The access token is not accepted: ${why}`
  return new Problem('unauthenticated', `${description}. Get a new one at /oauth/token`, {
    headers: {
      'www-authenticate': `Bearer error="invalid_token", error_description="${description.replace(/["\\]/g, '')}"`,
    },
  })
}

function reason(error: unknown): string {
  const { code, claim } = error as { code?: string; claim?: string }
  if (code === 'ERR_JWT_EXPIRED') return 'it has expired'
  if (code === 'ERR_JWT_CLAIM_VALIDATION_FAILED')
    return claim === 'nbf' ? 'it is not valid yet' : `its claim ${claim} is not valid`
  if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') return 'its signature is not valid'
  if (code === 'ERR_JOSE_ALG_NOT_ALLOWED') return 'its algorithm is not allowed'
  return 'it is not a valid token'
}
