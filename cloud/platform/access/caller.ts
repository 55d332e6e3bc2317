import type { Transaction } from '../database/database.ts'
import type { GrantedRole, Rights } from './rights.ts'

export type PrincipalKind = 'user' | 'server_user' | 'gateway' | 'external' | 'system'

/** `Caller` contains the principal, tenant, rights and request of a call. Every handler receives a caller. */
export type Caller = {
  readonly tenantId: string
  readonly tenantName: string
  readonly principal: { readonly id: string; readonly kind: PrincipalKind; readonly name: string }
  /** The roles that the token was issued with. */
  readonly roles: readonly string[]
  readonly rights: Rights
  /**
   * Data of the token, for work that continues after the request: its expiry (in milliseconds since 1970), its grants,
   * if any, and the ids by which it can be revoked. The token of a person also has the id of the sign-in session and the
   * time when the person last proved their identity (in milliseconds since 1970).
   */
  readonly token?: {
    readonly expiresAt: number
    readonly grants?: readonly GrantedRole[]
    readonly ids?: readonly string[]
    readonly sessionId?: string
    readonly authenticatedAt?: number
  }
  readonly request: { readonly id: string; readonly address: string | undefined }
  /** True if another service of the platform makes the call on behalf of this caller. */
  readonly byPeer?: true
  /** The transaction of the whole request. Only set if the request has an Idempotency-Key. */
  readonly transaction?: Transaction
}
