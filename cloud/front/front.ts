import type { Contract, Operation } from '@millwright/api/contract.ts'
import { writes } from '@millwright/api/contract.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { AccessCache } from '../platform/access/cache.ts'
import type { Caller } from '../platform/access/caller.ts'
import { requireRecentSignIn } from '../platform/access/step-up.ts'
import type { PrincipalAccess } from '../platform/access/store.ts'
import type { AuthorizedRequest, IncomingRequest } from '../platform/http/incoming-request.ts'
import { authorize } from '../platform/operation.ts'
import { type PeerTokens, peerScheme } from '../platform/peer-token.ts'
import type { AnonymousCaller } from '../platform/service.ts'
import type { TenantDirectory } from '../platform/tenants/tenants.ts'
import type { ClientVoucher } from './client-voucher.ts'
import type { ProofVerifier } from './proof.ts'
import type { RateLimit } from './rate-limit.ts'
import { invalidToken, type TokenVerifier } from './token.ts'

type Options = {
  tokens: TokenVerifier
  proofs: ProofVerifier
  peerTokens: PeerTokens
  access: AccessCache
  tenants: TenantDirectory
  rateLimit: RateLimit
  voucher: ClientVoucher
  /** Called when a write or a sensitive read of a caller with a valid token is refused. */
  onDenied: (caller: Caller, action: string) => void
}

/**
 * The result of the authentication. `useProof` exists if the token is bound to a key. It records the use of the proof,
 * and throws if the proof was used before. `policy` exists if the caller sent an access token.
 */
type Authenticated = { caller: Caller; useProof?: () => Promise<void>; policy?: PrincipalAccess['policy'] }

const missing = new Problem(
  'unauthenticated',
  'Send an access token in the header "Authorization: Bearer <token>". To get a token, call POST /oauth/token',
  {
    headers: { 'www-authenticate': 'Bearer' },
  },
)

/**
 * `Front` authenticates a request, applies the rate limit, and checks the permission and the age of the sign-in. It does
 * so before the body is read and the handler runs.
 */
export class Front {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  async authorize(incoming: IncomingRequest, operation: Operation, contract: Contract): Promise<AuthorizedRequest> {
    const request = { id: incoming.id, address: this.#options.voucher.addressOf(incoming) }
    // The process that forwarded a request has applied the rate limit.
    const isLimited = !this.#options.voucher.isForwarded(incoming)
    if (operation.access === 'public') {
      if (!isLimited) return { caller: { request } }
      return { caller: { request }, headers: this.#options.rateLimit.take(`address ${request.address}`) }
    }
    const { caller, useProof, policy } = await this.#authenticate(incoming, request).catch((error: unknown) => {
      this.limitAddress(incoming)
      throw error
    })
    const headers =
      isLimited && caller.principal.kind !== 'system' ? this.#options.rateLimit.take(caller.principal.id) : undefined
    // The proof is recorded after the rate limit, so that a refused request stores nothing.
    await useProof?.()
    try {
      authorize(operation, caller)
    } catch (error) {
      if (writes(operation) || operation.sensitive === true)
        this.#options.onDenied(caller, `${contract.name}.${nameOf(contract, operation)}`)
      throw error
    }
    if (operation.stepUp !== undefined && policy?.stepUp.includes(operation.stepUp) === true)
      requireRecentSignIn(caller, policy.stepUpMinutes)
    return headers === undefined ? { caller } : { caller, headers }
  }

  /**
   * Applies the rate limit of the client's address. It is used for requests without an operation, and for requests
   * whose authentication failed.
   */
  limitAddress(incoming: IncomingRequest): Record<string, string> {
    const { voucher, rateLimit } = this.#options
    return voucher.isForwarded(incoming) ? {} : rateLimit.take(`address ${voucher.addressOf(incoming)}`)
  }

  async #authenticate(incoming: IncomingRequest, request: AnonymousCaller['request']): Promise<Authenticated> {
    const header = incoming.headers.authorization
    if (typeof header !== 'string') throw missing
    const space = header.indexOf(' ')
    const scheme = header.slice(0, space).toLowerCase()
    const token = header.slice(space + 1).trim()
    if (scheme === 'bearer') return this.#bearer(token, request, incoming)
    if (scheme === peerScheme.toLowerCase())
      return { caller: await this.#options.peerTokens.verify(token).catch(notPeer) }
    throw missing
  }

  async #bearer(token: string, request: AnonymousCaller['request'], incoming: IncomingRequest): Promise<Authenticated> {
    const { verified, access } = await this.#current(token)
    const tenant = await this.#options.tenants.byId(verified.tenantId)
    if (tenant === undefined) throw invalidToken('its tenant does not exist')
    if (tenant.state !== 'active') throw new Problem('tenant_suspended', `The tenant ${tenant.name} is suspended`)
    if (access === undefined) throw invalidToken('its principal no longer exists')
    if (access.principal.disabled) throw invalidToken('its principal is disabled')
    if (access.revoked.size > 0 && verified.ids?.some((id) => access.revoked.has(id)) === true)
      throw invalidToken('it was revoked')
    const { tenantId, keyThumbprint: thumbprint } = verified
    const isForwarded = this.#options.voucher.isForwarded(incoming)
    const useProof =
      thumbprint === undefined
        ? undefined
        : await this.#options.proofs.verify(incoming, { token, thumbprint, tenantId, isForwarded })
    const caller: Caller = {
      tenantId: verified.tenantId,
      tenantName: tenant.name,
      principal: access.principal,
      roles: verified.roles,
      rights: this.#options.access.effective(access, verified),
      token: {
        expiresAt: verified.expiresAt,
        ...(verified.grants === undefined ? {} : { grants: verified.grants }),
        ...(verified.ids === undefined ? {} : { ids: verified.ids }),
        ...(verified.sessionId === undefined ? {} : { sessionId: verified.sessionId }),
        ...(verified.authenticatedAt === undefined ? {} : { authenticatedAt: verified.authenticatedAt }),
      },
      request,
    }
    const { policy } = access
    return useProof === undefined ? { caller, policy } : { caller, useProof, policy }
  }

  /** Returns a verified token and the access of its principal, both of the same version for a token of a provider. */
  async #current(token: string) {
    const { tokens, access: cache } = this.#options
    const verified = await tokens.verify(token)
    const { tenantId, principalId, accessVersion } = verified
    const access = await cache.of(tenantId, principalId)
    if (accessVersion === undefined || access?.version === accessVersion) return { verified, access }
    // The cache does not contain the grants of the verification yet.
    if (access === undefined || access.version < accessVersion) cache.forget(tenantId)
    const again = access !== undefined && access.version > accessVersion ? await tokens.verifyAgain(token) : verified
    return { verified: again, access: await cache.of(again.tenantId, again.principalId) }
  }
}

function notPeer(): never {
  throw missing
}

function nameOf(contract: Contract, operation: Operation): string {
  return Object.entries(contract.operations).find(([, other]) => other === operation)?.[0] ?? ''
}
