import { LruMap } from 'toad-cache'
import type { Address } from '../database/connection.ts'
import type { Database, Handle, ReferenceHandle, Transaction } from '../database/database.ts'
import { isStatementTimeout, lostWorkerOf } from '../database/transient.ts'
import type { Log } from '../log.ts'
import { TenantDirectory } from '../tenants/directory.ts'
import { type AccessChange, NotificationListener } from './notification-listener.ts'
import { type GrantedRole, type HeldRole, noRights, type Rights, rightsOf } from './rights.ts'
import { findAccess, listAllVersions, listVersions, type PrincipalAccess } from './store.ts'

/** The cached access of a principal. */
export type Access = PrincipalAccess & {
  readonly held: readonly HeldRole[]
  /** The rights of the principal. They are empty while the principal is disabled. */
  readonly rights: Rights
}

/** The roles of a token. `roles` contains their names. `grants` also contains the scope of each role. */
export type TokenRoles = { roles: readonly string[]; grants?: readonly GrantedRole[] }

type Options = {
  database: Database
  tenants?: TenantDirectory
  /**
   * The address of the database, for the connection that receives notifications of changes by other processes. Without
   * it, the cache only polls.
   */
  address?: Address | undefined
  /** Handlers for further notification channels, by the name of the channel. */
  otherChannels?: Readonly<Record<string, (payload: string) => void>>
  log: Log
  pollMs?: number
  entryLimit?: number
}

/** The cached state of one tenant. All cached entries of the tenant have the same version. */
type TenantState = {
  /** A cached entry is valid while it has the generation of its tenant. */
  generation: symbol
  version: number | undefined
  /**
   * The smallest version with which an entry may be cached. It is set when a notification of a change arrives during a
   * lookup.
   */
  atLeast: number
  loading: Map<string, Promise<Access | undefined>>
}

const defaultPollMs = 500
const defaultEntryLimit = 10_000

/**
 * The maximum number of role lists per principal for which the rights are cached. Most tokens of a principal contain
 * the same list of roles.
 */
const narrowedLimit = 32

/** If all polls fail for this time, the cache does not use its entries. */
const trustMs = 5_000

/**
 * How often a poll compares versions on a cluster while notifications arrive. The statement runs on every shard, so it
 * costs more than on a single server.
 */
const clusterComparisonMs = 5_000

/**
 * `AccessCache` holds the rights of principals in memory. A change by this process takes effect at the next request. A
 * change by another process takes effect when its notification arrives or at the next poll, so within a second. On a
 * cluster, a poll compares versions less often while the connection for notifications works.
 */
export class AccessCache {
  readonly tenants: TenantDirectory
  readonly #database: Database
  readonly #log: Log
  readonly #pollMs: number
  readonly #listener: NotificationListener | undefined
  readonly #states: LruMap<TenantState>
  /** The cached access by tenant and principal. */
  readonly #entries: LruMap<{ generation: symbol; access: Access }>
  readonly #narrowed = new WeakMap<Access, LruMap<Rights>>()
  #confirmedAtMs = performance.now()
  #comparedAtMs = -Infinity
  #timer: NodeJS.Timeout | undefined
  #polling: { startedAtMs: number; done: Promise<void> } | undefined

  constructor({ database, tenants, address, otherChannels = {}, log, ...options }: Options) {
    this.tenants = tenants ?? new TenantDirectory({ database })
    this.#database = database
    this.#log = log
    this.#pollMs = options.pollMs ?? defaultPollMs
    this.#states = new LruMap(options.entryLimit ?? defaultEntryLimit)
    this.#entries = new LruMap(options.entryLimit ?? defaultEntryLimit)
    if (address !== undefined && !database.server.pooled) {
      this.#listener = new NotificationListener({
        address,
        log,
        onAccessChange: (change) => this.#onAccessChange(change),
        // Notifications were lost while the listener was disconnected.
        onConnected: () => {
          this.#comparedAtMs = -Infinity
        },
        otherChannels,
      })
    }
    database.onCommit(({ tenantId, topics }) => {
      if (topics.has('access')) this.forget(tenantId)
    })
  }

  start(): void {
    this.#listener?.start()
    this.#timer ??= setInterval(() => this.#tick(), this.#pollMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.#polling?.done
    await this.#listener?.stop()
  }

  async of(tenantId: string, principalId: string): Promise<Access | undefined> {
    const state = this.#stateOf(tenantId)
    return (
      this.#cached(state, tenantId, principalId) ??
      state.loading.get(principalId) ??
      this.#load(state, tenantId, principalId)
    )
  }

  /**
   * Returns the access of a principal, like `of`, but reads missing entries in the given transaction. A caller that
   * holds locks must not wait for another connection, because the holders of connections may wait for these locks.
   */
  async within(tx: Transaction, principalId: string): Promise<Access | undefined> {
    const state = this.#stateOf(tx.tenantId)
    return this.#cached(state, tx.tenantId, principalId) ?? this.#lookUp(state, tx, principalId)
  }

  /** Returns the rights of a token. A role of the token counts only while the principal still holds it. */
  effective(access: Access, { roles, grants }: TokenRoles): Rights {
    if (access.principal.disabled) return noRights
    const key = grants === undefined ? roles.join(' ') : JSON.stringify(grants)
    const narrowed = this.#narrowed.get(access) ?? new LruMap<Rights>(narrowedLimit)
    const before = narrowed.get(key)
    if (before !== undefined) return before
    const held = access.held.filter(({ role, accessGroupId }) =>
      grants === undefined
        ? roles.includes(role)
        : grants.some((grant) => grant.role === role && grant.accessGroupId === accessGroupId),
    )
    const rights = held.length === access.held.length ? access.rights : rightsOf(held)
    narrowed.set(key, rights)
    this.#narrowed.set(access, narrowed)
    return rights
  }

  /** Compares the cached versions with the database. The timer calls this method. Tests can call it too. */
  async poll(): Promise<void> {
    const startedAtMs = performance.now()
    const handle = this.#listener?.handle
    const look = async (through: ReferenceHandle) => {
      await this.tenants.refresh(through)
      const isEarly = startedAtMs - this.#comparedAtMs < clusterComparisonMs
      if (this.#database.server.citus && handle !== undefined && isEarly) return
      await this.#compareVersions(through)
      this.#comparedAtMs = startedAtMs
    }
    try {
      await (handle === undefined ? this.#database.reference(look) : look(handle))
    } catch (error) {
      if (handle !== undefined) this.#listener?.drop()
      throw error
    }
    this.#confirmedAtMs = Math.max(this.#confirmedAtMs, startedAtMs)
  }

  /** Sends a notification to all processes of the database. Sends nothing behind a connection pooler. */
  async notify(channel: string, payload: string): Promise<void> {
    await this.#listener?.notify(channel, payload)
  }

  forget(tenantId: string): void {
    this.#states.delete(tenantId)
  }

  #isTrusted(): boolean {
    return performance.now() - this.#confirmedAtMs < trustMs
  }

  #tick(): void {
    const now = performance.now()
    // A poll on a dead connection may never end. It must not block later polls, so after `trustMs` the next poll uses
    // another connection.
    if (this.#polling !== undefined && now - this.#polling.startedAtMs < trustMs) return
    const done = this.poll()
      .catch((error: unknown) => this.#log.warn({ error }, 'The poll for changes of access failed'))
      .finally(() => {
        if (this.#polling?.done === done) this.#polling = undefined
      })
    this.#polling = { startedAtMs: now, done }
  }

  #cached({ generation }: TenantState, tenantId: string, principalId: string): Access | undefined {
    const entry = this.#isTrusted() ? this.#entries.get(keyOf(tenantId, principalId)) : undefined
    return entry?.generation === generation ? entry.access : undefined
  }

  #stateOf(tenantId: string): TenantState {
    const state = this.#states.get(tenantId) ?? this.#emptyState()
    this.#states.set(tenantId, state)
    return state
  }

  #emptyState(): TenantState {
    return { generation: Symbol(), version: undefined, atLeast: 0, loading: new Map() }
  }

  #load(state: TenantState, tenantId: string, principalId: string): Promise<Access | undefined> {
    const lookup = this.#database.lookup({ tenantId }, (handle) => this.#lookUp(state, handle, principalId))
    const loading = lookup.finally(() => {
      if (state.loading.get(principalId) === loading) state.loading.delete(principalId)
      const isEmpty = state.loading.size === 0 && state.version === undefined
      if (isEmpty && this.#states.get(tenantId) === state) this.#states.delete(tenantId)
    })
    state.loading.set(principalId, loading)
    return loading
  }

  async #lookUp(state: TenantState, handle: Handle, principalId: string): Promise<Access | undefined> {
    const principalAccess = await findAccess(handle, principalId)
    if (principalAccess === undefined) return undefined
    const access: Access = {
      ...principalAccess,
      rights: principalAccess.principal.disabled ? noRights : rightsOf(principalAccess.held),
    }
    this.#store(state, handle.tenantId, access)
    return access
  }

  #store(state: TenantState, tenantId: string, access: Access): void {
    // If access changed during the lookup, only the callers that already wait for this result use it. The result is
    // not cached.
    const oldest = Math.max(state.atLeast, state.version ?? 0)
    if (this.#states.get(tenantId) !== state || access.version < oldest) return
    if (state.version !== undefined && state.version < access.version) this.forget(tenantId)
    const current = this.#stateOf(tenantId)
    current.version = access.version
    this.#entries.set(keyOf(tenantId, access.principal.id), { generation: current.generation, access })
  }

  #onAccessChange({ tenantId, version }: AccessChange): void {
    if (version === undefined) this.tenants.forget(tenantId)
    const state = this.#states.get(tenantId)
    if (state === undefined || (version !== undefined && (state.version ?? -1) >= version)) return
    const isLoading = state.loading.size > 0
    this.forget(tenantId)
    if (version === undefined || !isLoading) return
    // New callers do not join a lookup that started before the change. The result of that lookup is cached only if it
    // includes the change.
    const atLeast = Math.max(state.atLeast, version)
    this.#states.set(tenantId, Object.assign(state, this.#emptyState(), { atLeast }))
  }

  async #compareVersions(handle: ReferenceHandle): Promise<void> {
    const before = new Map([...this.#states.items].map(([tenantId, { value }]) => [tenantId, value]))
    if (before.size === 0) return
    const rows = await this.#versionsOf(handle, [...before.keys()])
    const versions = new Map(rows.map(({ tenantId, version }) => [tenantId, version]))
    for (const [tenantId, state] of before) {
      if (this.#states.get(tenantId) !== state || state.version === undefined) continue
      if (versions.get(tenantId) !== state.version) this.forget(tenantId)
    }
  }

  /**
   * Returns the current versions of tenants. If a worker of a cluster does not respond, it returns none, so that the
   * entries of all tenants are read again. The tenants of other workers can still be read.
   */
  async #versionsOf(handle: ReferenceHandle, tenantIds: string[]) {
    if (!this.#database.server.citus) return listVersions(handle, tenantIds)
    try {
      return await listAllVersions(handle)
    } catch (error) {
      if (lostWorkerOf(error) === undefined && !isStatementTimeout(error)) throw error
      this.#log.warn({ error }, 'A worker of the database does not respond; cached access is read again')
      return []
    }
  }
}

function keyOf(tenantId: string, principalId: string): string {
  return `${tenantId} ${principalId}`
}
