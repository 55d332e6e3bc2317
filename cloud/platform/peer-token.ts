import type { Permission } from '@millwright/api/permission.ts'
import { jwtVerify, SignJWT } from 'jose'
import type { Caller } from './access/caller.ts'
import type { Secrets } from './secrets/secrets.ts'

/**
 * The authentication scheme of peer tokens. A process uses such a token to call another process on behalf of a caller.
 * The token is short-lived and signed with a key derived from the platform key, so only processes of this installation
 * can create it. It is not an access token: it has another scheme, type and algorithm, and another function verifies
 * it.
 */
export const peerScheme = 'Peer'

const purpose = 'peer calls'
const type = 'peer+jwt'
const lifetimeSeconds = 30

type Claims = {
  tenant: string
  tenantName: string
  principal: Caller['principal']
  roles: readonly string[]
  everywhere: Permission[]
  inGroups: [Permission, string[]][]
  request: Caller['request']
  token?: Caller['token']
}

export type PeerTokens = {
  sign(caller: Caller): Promise<string>
  /** Returns the caller of a token. Throws if no process of this installation created the token. */
  verify(token: string): Promise<Caller>
}

export function peerTokens(secrets: Secrets): PeerTokens {
  return {
    sign(caller) {
      const { version, key } = secrets.keyFor(purpose)
      const claims: Claims = {
        tenant: caller.tenantId,
        tenantName: caller.tenantName,
        principal: caller.principal,
        roles: caller.roles,
        everywhere: [...caller.rights.everywhere],
        inGroups: [...caller.rights.inGroups].map(([permission, groups]) => [permission, [...groups]]),
        request: caller.request,
        ...(caller.token === undefined ? {} : { token: caller.token }),
      }
      return new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', typ: type, kid: String(version) })
        .setIssuedAt()
        .setExpirationTime(`${lifetimeSeconds}s`)
        .sign(key)
    },
    async verify(token) {
      const keyOf = async ({ kid }: { kid?: string }) => secrets.keyOfVersion(purpose, Number(kid))
      const { payload } = await jwtVerify<Claims>(token, keyOf, { algorithms: ['HS256'], typ: type, clockTolerance: 5 })
      return {
        tenantId: payload.tenant,
        tenantName: payload.tenantName,
        principal: payload.principal,
        roles: payload.roles,
        rights: {
          everywhere: new Set(payload.everywhere),
          inGroups: new Map(payload.inGroups.map(([permission, groups]) => [permission, new Set(groups)])),
        },
        request: payload.request,
        ...(payload.token === undefined ? {} : { token: payload.token }),
        byPeer: true,
      }
    },
  }
}
