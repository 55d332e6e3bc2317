/** What an access token says (RFC 9068): written by identity, read by the front, never by anybody else's guess. */

/** Who the tokens are for: the platform as a whole. */
export const tokenAudience = 'millwright'

/** The `typ` of the JOSE header: a token of another kind, signed by the same key, is never taken for an access token. */
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
  /** The server user's client id, or the program a person signed in with. */
  client_id: string
  iat: number
  exp: number
  jti: string
  /** Id of the tenant. */
  tenant: string
  tenant_name: string
  kind: TokenKind
  /** Names of the roles held when it was issued, anywhere in the tenant; narrowed by `scope`. */
  roles: string[]
  /** The roles that were asked for, when some were. */
  scope?: string
  /** The sign-in that a person's token comes from. */
  sid?: string
  /** The authorization code or the client secret that the token comes from: its tokens can be revoked together. */
  family?: string
  /** The key that the bearer must prove to have with every request (RFC 7800, RFC 9449): its thumbprint. */
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

/** Where the proof stands: a JWT of type `proofType`, signed for this one request. */
export const proofHeader = 'dpop'
export const proofType = 'dpop+jwt'
