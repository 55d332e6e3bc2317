/** The claims of an access token (RFC 9068). The identity service issues the token, and the HTTP front verifies it. */

/** The audience of access tokens: the platform. */
export const tokenAudience = 'millwright'

/** The `typ` of the JOSE header. It distinguishes access tokens from other tokens that the same key signs. */
export const tokenType = 'at+jwt'

export const tokenAlgorithm = 'ES256'

/** The kinds of principals that get tokens from our own issuer. */
export type TokenKind = 'user' | 'server_user' | 'gateway' | 'external'

export type TokenClaims = {
  /** The origin of the platform. */
  iss: string
  aud: typeof tokenAudience
  /** The id of the principal. */
  sub: string
  /** The client id of the service account, or of the program with which a user signed in. */
  client_id: string
  iat: number
  exp: number
  jti: string
  /** The id of the tenant. */
  tenant: string
  tenant_name: string
  kind: TokenKind
  /**
   * The names of the roles that the principal had when the token was issued, in the tenant or in any access group. If
   * the token has a `scope`, only the roles in the scope are included.
   */
  roles: string[]
  /** The requested roles, if the token request contained a scope. */
  scope?: string
  /** The id of the sign-in session, for the token of a user. */
  sid?: string
  /**
   * The id of the authorization code or client secret with which the token was obtained. All tokens with the same
   * family can be revoked together.
   */
  family?: string
  /** The thumbprint of the key whose possession the bearer must prove in every request (RFC 7800, RFC 9449). */
  cnf?: { jkt: string }
  /** The time when the user last proved their identity, in seconds since 1970 (RFC 9470), for the token of a user. */
  auth_time?: number
  /** How the user proved their identity (RFC 8176): `pwd`, `otp`, `hwk`, `fed` and others. */
  amr?: string[]
}

/**
 * Returns the ids by which a token can be revoked. Tokens of earlier versions have no family, so the id of the principal is
 * used instead.
 */
export function revocationIds({
  jti,
  sid,
  family,
  sub,
}: Pick<TokenClaims, 'jti' | 'sid' | 'family' | 'sub'>): string[] {
  return [jti, family ?? sub, ...(sid === undefined ? [] : [sid])]
}

/**
 * The header with the proof that the client has the key of its token: a JWT of type `proofType`, signed for one
 * request.
 */
export const proofHeader = 'dpop'
export const proofType = 'dpop+jwt'
