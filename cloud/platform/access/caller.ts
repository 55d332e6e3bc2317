import type { Transaction } from '../database/database.ts'
import type { Rights } from './rights.ts'

export type PrincipalKind = 'user' | 'server_user' | 'gateway' | 'external' | 'system'

/** Who asks, for which tenant, with what rights, in which request. Every handler gets one. */
export type Caller = {
  readonly tenantId: string
  readonly tenantName: string
  readonly principal: { readonly id: string; readonly kind: PrincipalKind; readonly name: string }
  /** The roles the token was issued with. */
  readonly roles: readonly string[]
  readonly rights: Rights
  readonly request: { readonly id: string; readonly address: string | undefined }
  /** The transaction that the whole request runs in, when it came with an Idempotency-Key. */
  readonly transaction?: Transaction
}
