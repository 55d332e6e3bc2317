/** The claims of an access token (RFC 9068): issued by identity, verified by the front. */

/** The audience of access tokens: the platform. */
export const tokenAudience = 'millwright'

/** The `typ` of the JOSE header. It distinguishes access tokens from other tokens with the same key. */
export const tokenType = 'at+jwt'

export const tokenAlgorithm = 'ES256'

/** Kinds of principals that get tokens from our own issuer. */
export type TokenKind = 'user' | 'server_user' | 'gateway'

export type TokenClaims = {
  /** The origin of the platform. */
  iss: string
  aud: typeof tokenAudience
  /** Id of the principal. */
  sub: string
  /** The client id of the service account, or the program that a user signed in with. */
  client_id: string
  iat: number
  exp: number
  jti: string
  /** Id of the tenant. */
  tenant: string
  tenant_name: string
  kind: TokenKind
  /** Names of the roles at the time of issue, in the tenant or in any access group, limited by `scope`. */
  roles: string[]
  /** The requested roles, if any. */
  scope?: string
  /** The sign-in session of a user's token. */
  sid?: string
  /** The authorization code or client secret of the token. All tokens of a family can be revoked together. */
  family?: string
  /** Thumbprint of the key whose possession the bearer must prove with every request (RFC 7800, RFC 9449). */
  cnf?: { jkt: string }
}

/** The ids by which a token can be revoked. Tokens of earlier versions have no family: the principal takes its place. */
export function revocationIds({
  jti,
  sid,
  family,
  sub,
}: Pick<TokenClaims, 'jti' | 'sid' | 'family' | 'sub'>): string[] {
  return [jti, family ?? sub, ...(sid === undefined ? [] : [sid])]
}

/** The header of the proof: a JWT of type `proofType`, signed for one request. */
export const proofHeader = 'dpop'
export const proofType = 'dpop+jwt'
