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
  /**
   * The roles of an external token, each in the whole tenant or in one access group. The roles of other tokens apply
   * wherever they are granted to the principal.
   */
  grants?: readonly GrantedRole[]
  /**
   * The thumbprint of the key that the token is bound to. Every request with the token must prove the possession of
   * this key.
   */
  keyThumbprint?: string
  /** The ids by which a token of the platform's issuer can be revoked. */
  ids?: readonly string[]
  /** The id of the sign-in session, for the token of a person. */
  sessionId?: string
  /** The time when the person last proved their identity, in milliseconds since 1970. */
  authenticatedAt?: number
  /** The time when the token expires, in milliseconds since 1970. */
  expiresAt: number
  /** The id of the platform's key that signed the token. Empty for a token of an identity provider. */
  kid: string
  /**
   * The version of the tenant's access with which a token of an identity provider was verified. The token must be
   * verified again when access changes, because its provider may be disabled.
   */
  accessVersion?: number
}

/** The result of the verification of a token of an identity provider. */
export type ProviderTokenResult =
  | ({ isValid: true; grants: readonly GrantedRole[]; accessVersion: number } & Pick<
      VerifiedToken,
      'tenantId' | 'principalId' | 'expiresAt' | 'authenticatedAt'
    >)
  | { isValid: false; reason: string }

type Options = {
  issuer: () => string
  keys: () => Promise<JWK[]>
  /** Verifies a token that another issuer issued. */
  verifyProviderToken: (token: string) => Promise<ProviderTokenResult>
}

const cacheSize = 20_000
const clockToleranceSeconds = 5

/** `TokenVerifier` checks signature, issuer, audience, type and times of access tokens. It caches the results. */
export class TokenVerifier {
  readonly #options: Options
  readonly #keys: KeyRing
  /**
   * The verified tokens, by the hash of the token. The cache contains no tokens, so that a memory dump does not reveal
   * them.
   */
  readonly #verified = new LruMap<VerifiedToken>(cacheSize)
  hits = 0
  misses = 0

  constructor(options: Options) {
    this.#options = options
    this.#keys = new KeyRing({ load: options.keys, onRemoved: (kid) => this.#forgetKey(kid) })
  }

  async verify(token: string): Promise<VerifiedToken> {
    if (token.length > limits.tokenBytes) throw invalidToken(`it is longer than ${limits.tokenBytes} bytes`)
    const digest = hash('sha256', token, 'base64')
    const cached = this.#verified.get(digest)
    if (cached !== undefined && cached.expiresAt > Date.now()) {
      this.hits++
      return cached
    }
    this.misses++
    this.#verified.delete(digest)
    const verified = await this.#check(token)
    this.#verified.set(digest, verified)
    return verified
  }

  /** Verifies a token again, although it is cached. */
  async verifyAgain(token: string): Promise<VerifiedToken> {
    this.#verified.delete(hash('sha256', token, 'base64'))
    return this.verify(token)
  }

  async #check(token: string): Promise<VerifiedToken> {
    try {
      const issuer = claimedIssuer(token)
      const isForeign = issuer !== undefined && issuer !== this.#options.issuer()
      return await (isForeign ? this.#checkForeign(token) : this.#checkOwn(token))
    } catch (error) {
      if (error instanceof Problem) throw error
      throw invalidToken(reason(error))
    }
  }

  async #checkForeign(token: string): Promise<VerifiedToken> {
    const result = await this.#options.verifyProviderToken(token)
    if (!result.isValid) throw invalidToken(result.reason, 'Get a new token from your identity provider')
    const { isValid: _isValid, ...verified } = result
    return { ...verified, roles: [...new Set(verified.grants.map(({ role }) => role))], kid: '' }
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
      throw invalidToken('its claims are not valid')
    return {
      tenantId: payload.tenant,
      principalId: payload.sub,
      roles: payload.roles,
      ids: revocationIds(payload),
      expiresAt: payload.exp * 1000,
      kid: protectedHeader.kid ?? '',
      ...(payload.sid === undefined ? {} : { sessionId: payload.sid }),
      ...(payload.auth_time === undefined ? {} : { authenticatedAt: payload.auth_time * 1000 }),
      ...(payload.cnf === undefined ? {} : { keyThumbprint: String(payload.cnf.jkt) }),
    }
  }

  async #key({ kid }: JWTHeaderParameters) {
    const key = kid === undefined ? undefined : await this.#keys.find(kid)
    if (key === undefined) throw invalidToken('it is signed with an unknown key')
    return key
  }

  #forgetKey(kid: string): void {
    for (const [digest, { value }] of this.#verified.items) if (value.kid === kid) this.#verified.delete(digest)
  }
}

function claimedIssuer(token: string): string | undefined {
  return decodeJwt(token).iss
}

export function invalidToken(why: string, advice = 'Get a new token with POST /oauth/token'): Problem {
  const description = `The access token is not accepted: ${why}`
  return new Problem('unauthenticated', `${description}. ${advice}`, {
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
