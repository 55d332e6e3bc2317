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
  /** The key that the bearer must prove to have with every request (RFC 7800, RFC 9449): its thumbprint. */
  cnf?: { jkt: string }
}

/** Where the proof stands: a JWT of type `proofType`, signed for this one request. */
export const proofHeader = 'dpop'
export const proofType = 'dpop+jwt'
