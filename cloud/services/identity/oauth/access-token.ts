import { type TokenClaims, type TokenKind, tokenAlgorithm, tokenAudience, tokenType } from '@millwright/api/token.ts'
import { SignJWT } from 'jose'
import { v7 } from 'uuid'
import type { HeldRole } from '../../../platform/access/rights.ts'
import type { Settings } from '../../../platform/service.ts'
import type { KeyRing } from '../signing-keys/signing-keys.ts'

export type Bearer = {
  tenant: { id: string; name: string }
  principal: { id: string; kind: TokenKind }
  clientId: string
  roles: string[]
  scope?: readonly string[] | undefined
  sessionId?: string
  /** The id of a token family: the tokens of one authorization code or of one client secret, which are revoked together. */
  family?: string
  /** The thumbprint of the key whose possession the client must prove in each request (DPoP). */
  keyThumbprint?: string
  /** When and how the person last proved their identity, and when their session ends. */
  signIn?: { authenticatedAt: Date; methods: readonly string[]; endsAt: Date }
}

/** Returns the names of all roles that the principal holds, in the whole tenant or in an access group. */
export function roleNames(held: readonly HeldRole[]): string[] {
  return [...new Set(held.map(({ role }) => role))].toSorted()
}

/** Returns the claims of an access token (RFC 9068). */
export function claimsFor(bearer: Bearer, { baseUrl, tokenLifetimeSeconds }: Settings, now: Date): TokenClaims {
  const iat = secondsOf(now)
  const { signIn } = bearer
  const expiry = iat + tokenLifetimeSeconds
  return {
    iss: baseUrl,
    aud: tokenAudience,
    sub: bearer.principal.id,
    client_id: bearer.clientId,
    iat,
    exp: signIn === undefined ? expiry : Math.min(expiry, secondsOf(signIn.endsAt)),
    jti: v7(),
    tenant: bearer.tenant.id,
    tenant_name: bearer.tenant.name,
    kind: bearer.principal.kind,
    roles: bearer.roles,
    ...(bearer.scope === undefined ? {} : { scope: bearer.scope.join(' ') }),
    ...(bearer.sessionId === undefined ? {} : { sid: bearer.sessionId }),
    ...(bearer.family === undefined ? {} : { family: bearer.family }),
    ...(bearer.keyThumbprint === undefined ? {} : { cnf: { jkt: bearer.keyThumbprint } }),
    ...(signIn === undefined ? {} : { auth_time: secondsOf(signIn.authenticatedAt), amr: [...signIn.methods] }),
  }
}

function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}

export async function signToken(claims: TokenClaims, keys: KeyRing): Promise<string> {
  const { kid, privateKey } = await keys.signing()
  return new SignJWT(claims).setProtectedHeader({ alg: tokenAlgorithm, typ: tokenType, kid }).sign(privateKey)
}
