import type { Transaction } from '../database/database.ts'
import type { GrantedRole, Rights } from './rights.ts'

export type PrincipalKind = 'user' | 'server_user' | 'gateway' | 'external' | 'system'

/** Who asks, for which tenant, with what rights, in which request. Every handler gets one. */
export type Caller = {
  readonly tenantId: string
  readonly tenantName: string
  readonly principal: { readonly id: string; readonly kind: PrincipalKind; readonly name: string }
  /** The roles the token was issued with. */
  readonly roles: readonly string[]
  readonly rights: Rights
  /**
   * For work that outlives a request: the expiry of the token (in ms since 1970), the grants that it names, if any, and
   * the ids by which it can be revoked.
   */
  readonly token?: {
    readonly expiresAt: number
    readonly grants?: readonly GrantedRole[]
    readonly ids?: readonly string[]
  }
  readonly request: { readonly id: string; readonly address: string | undefined }
  /** It is another service of ours that asks, in the name of this caller. */
  readonly byPeer?: true
  /** The transaction that the whole request runs in, when it came with an Idempotency-Key. */
  readonly transaction?: Transaction
}
