import { hash } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'
import { revocationIds, type TokenClaims, tokenAlgorithm, tokenAudience, tokenType } from '@millwright/api/token.ts'
import { decodeJwt, type JWK, type JWTHeaderParameters, jwtVerify } from 'jose'
import { LruMap } from 'toad-cache'
import { validate as isUuid } from 'uuid'
import type { GrantedRole } from '../platform/access/rights.ts'
import { limits } from '../platform/limits.ts'
import { KeyRing } from './key-ring.ts'

/** What a valid token says, as far as the front needs it. */
export type VerifiedToken = {
  tenantId: string
  principalId: string
  roles: readonly string[]
  /** Where the roles count, for who says so; a token of ours counts wherever its roles are granted. */
  grants?: readonly GrantedRole[]
  /** Of the key that must be proved with every request, when the token is bound to one. */
  keyThumbprint?: string
  /** The ids by which a token of our own issuer can be revoked. */
  ids?: readonly string[]
  /** Milliseconds since 1970. */
  expiresAt: number
  kid: string
}

/** An issuer besides our own: says whether a token is one of its, and verifies it. */
export type ForeignIssuer = { issuer: string; verify(token: string): Promise<VerifiedToken> }

type Options = {
  issuer: () => string
  keys: () => Promise<JWK[]>
  foreign: readonly ForeignIssuer[]
}

const cacheSize = 20_000
const clockToleranceSeconds = 5

/** Checks signature, issuer, audience, type and times of access tokens; each token once, as long as it is remembered. */
export class TokenVerifier {
  readonly #options: Options
  readonly #keys: KeyRing
  /** By hash: a dump of the process shows no usable token that is not in use anyway. */
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
      throw refused('its claims are wrong')
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
    if (key === undefined) throw refused('it is signed with a key that is not ours')
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
    return claim === 'nbf' ? 'it is not valid yet' : `its claim ${claim} is wrong`
  if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') return 'its signature is wrong'
  if (code === 'ERR_JOSE_ALG_NOT_ALLOWED') return 'its algorithm is not allowed'
  return 'it is not a valid token'
}
