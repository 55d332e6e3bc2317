import { LruMap } from 'toad-cache'
import type { Address } from '../database/connection.ts'
import type { Database, Handle, ReferenceHandle, Transaction } from '../database/database.ts'
import type { Log } from '../log.ts'
import { TenantDirectory } from '../tenants/directory.ts'
import { type Announcement, Announcements } from './announcements.ts'
import { type GrantedRole, type HeldRole, noRights, type Rights, rightsOf } from './rights.ts'
import { type FoundAccess, findAccess, listVersions } from './store.ts'

/** What the cache knows of a principal. */
export type Access = FoundAccess & {
  readonly held: readonly HeldRole[]
  /** Nothing while the principal is disabled. */
  readonly rights: Rights
}

/** As a token says: role names, or exactly where each of them counts. */
export type TokenRoles = { roles: readonly string[]; grants?: readonly GrantedRole[] }

type Options = {
  database: Database
  tenants?: TenantDirectory
  /** Where to listen for what other processes change; without it changes are only polled for. */
  address?: Address | undefined
  /** What else is announced on the connection that listens, by channel. */
  alsoHear?: Readonly<Record<string, () => void>>
  log: Log
  pollMs?: number
  entryLimit?: number
}

/** What is known of one tenant, all of it of the same version. */
type Known = {
  /** Cached entries count while their tenant has the same generation. */
  generation: symbol
  version: number | undefined
  /** A version that was heard of while the first look was still under way. */
  atLeast: number
  settled: boolean
  loading: Map<string, Promise<Access | undefined>>
}

const usualPollMs = 500
const usualEntryLimit = 10_000

/** Role lists of tokens, per principal: the token endpoint gives the same one again and again. */
const narrowedLimit = 32

/** For how long polls may fail before nothing that is cached is believed. */
const trustMs = 5_000

/**
 * Who may do what, in memory. A change made in this process is seen by the next request; one made in another process
 * when it is heard of, or at the next poll: within a second either way.
 */
export class AccessCache {
  readonly tenants: TenantDirectory
  readonly #database: Database
  readonly #log: Log
  readonly #pollMs: number
  readonly #announcements: Announcements | undefined
  readonly #known: LruMap<Known>
  /** By tenant and principal. */
  readonly #entries: LruMap<{ generation: symbol; access: Access }>
  readonly #narrowed = new WeakMap<Access, LruMap<Rights>>()
  #confirmedAtMs = performance.now()
  #timer: NodeJS.Timeout | undefined
  #polling: { startedAtMs: number; done: Promise<void> } | undefined

  constructor({ database, tenants, address, alsoHear = {}, log, ...options }: Options) {
    this.tenants = tenants ?? new TenantDirectory({ database })
    this.#database = database
    this.#log = log
    this.#pollMs = options.pollMs ?? usualPollMs
    this.#known = new LruMap(options.entryLimit ?? usualEntryLimit)
    this.#entries = new LruMap(options.entryLimit ?? usualEntryLimit)
    if (address !== undefined && !database.server.pooled) {
      this.#announcements = new Announcements({
        address,
        log,
        hear: (announcement) => this.#hear(announcement),
        alsoHear,
      })
    }
    database.onCommit(({ tenantId, topics }) => {
      if (topics.has('access')) this.forget(tenantId)
    })
  }

  start(): void {
    this.#announcements?.start()
    this.#timer ??= setInterval(() => this.#tick(), this.#pollMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.#polling?.done
    await this.#announcements?.stop()
  }

  async of(tenantId: string, principalId: string): Promise<Access | undefined> {
    const known = this.#recall(tenantId)
    return (
      this.#remembered(known, tenantId, principalId) ??
      known.loading.get(principalId) ??
      this.#load(known, tenantId, principalId)
    )
  }

  /**
   * The same for who is in a transaction: what is not remembered is looked up in it. Who holds locks must not wait for
   * another connection, for those who have one may be waiting for the locks.
   */
  async within(tx: Transaction, principalId: string): Promise<Access | undefined> {
    const known = this.#recall(tx.tenantId)
    return this.#remembered(known, tx.tenantId, principalId) ?? this.#look(known, tx, principalId)
  }

  /** What a token may do: the roles it was issued with, as far and as wide as they are still held. */
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

  /** Looks at what changed; the timer does it, tests may. */
  async poll(): Promise<void> {
    const startedAtMs = performance.now()
    const handle = this.#announcements?.handle
    const look = async (through: ReferenceHandle) => {
      await this.#compareVersions(through)
      await this.tenants.refresh(through)
    }
    try {
      await (handle === undefined ? this.#database.reference(look) : look(handle))
    } catch (error) {
      if (handle !== undefined) this.#announcements?.drop()
      throw error
    }
    this.#confirmedAtMs = Math.max(this.#confirmedAtMs, startedAtMs)
  }

  forget(tenantId: string): void {
    this.#known.delete(tenantId)
  }

  #isTrusted(): boolean {
    return performance.now() - this.#confirmedAtMs < trustMs
  }

  #tick(): void {
    const now = performance.now()
    // One that hangs on a dead connection does not keep the next one from trying another.
    if (this.#polling !== undefined && now - this.#polling.startedAtMs < trustMs) return
    const done = this.poll()
      .catch((error: unknown) => this.#log.warn({ error }, 'Changes of access could not be polled for'))
      .finally(() => {
        if (this.#polling?.done === done) this.#polling = undefined
      })
    this.#polling = { startedAtMs: now, done }
  }

  #remembered({ generation }: Known, tenantId: string, principalId: string): Access | undefined {
    const entry = this.#isTrusted() ? this.#entries.get(keyOf(tenantId, principalId)) : undefined
    return entry?.generation === generation ? entry.access : undefined
  }

  #recall(tenantId: string): Known {
    const known = this.#known.get(tenantId) ?? this.#nothingKnown()
    this.#known.set(tenantId, known)
    return known
  }

  #nothingKnown(): Known {
    const settled = !this.#database.server.citus
    return { generation: Symbol(), version: undefined, atLeast: 0, settled, loading: new Map() }
  }

  #load(known: Known, tenantId: string, principalId: string): Promise<Access | undefined> {
    const looking = this.#database.lookup({ tenantId }, (handle) => this.#look(known, handle, principalId))
    const loading = looking.finally(() => {
      if (known.loading.get(principalId) === loading) known.loading.delete(principalId)
      const isEmpty = known.loading.size === 0 && known.version === undefined
      if (isEmpty && this.#known.get(tenantId) === known) this.#known.delete(tenantId)
    })
    known.loading.set(principalId, loading)
    return loading
  }

  async #look(known: Known, handle: Handle, principalId: string): Promise<Access | undefined> {
    const found = await findAccess(handle, principalId)
    if (found === undefined) return undefined
    const access: Access = { ...found, rights: found.principal.disabled ? noRights : rightsOf(found.held) }
    this.#keep(known, handle.tenantId, access)
    return access
  }

  #keep(known: Known, tenantId: string, access: Access): void {
    // Access was changed while it was looked at: this answers who asked before, and nobody after.
    const oldest = Math.max(known.atLeast, known.version ?? 0)
    if (this.#known.get(tenantId) !== known || access.version < oldest) return
    if (known.version !== undefined && known.version < access.version) this.forget(tenantId)
    const current = this.#recall(tenantId)
    current.version = access.version
    this.#entries.set(keyOf(tenantId, access.principal.id), { generation: current.generation, access })
  }

  #hear({ tenantId, version }: Announcement): void {
    if (version === undefined) this.tenants.forget(tenantId)
    const known = this.#known.get(tenantId)
    if (known === undefined || (version !== undefined && (known.version ?? -1) >= version)) return
    const underWay = known.loading.size > 0
    this.forget(tenantId)
    if (version === undefined || !underWay) return
    // Nobody who comes now joins a look that is under way; what it finds is kept if it is of after the change.
    const atLeast = Math.max(known.atLeast, version)
    this.#known.set(tenantId, Object.assign(known, this.#nothingKnown(), { atLeast }))
  }

  async #compareVersions(handle: ReferenceHandle): Promise<void> {
    const before = new Map([...this.#known.items].map(([tenantId, { value }]) => [tenantId, value]))
    if (before.size === 0) return
    const rows = await listVersions(handle, [...before.keys()])
    const versions = new Map(rows.map(({ tenantId, version }) => [tenantId, version]))
    for (const [tenantId, known] of before) {
      if (this.#known.get(tenantId) !== known || known.version === undefined) continue
      if (versions.get(tenantId) !== known.version) this.forget(tenantId)
      else if (!known.settled) this.#settle(tenantId, known)
    }
  }

  /**
   * On a cluster a commit becomes visible node by node: what was looked at right after a change could be of before it
   * and still say the new version. So it is looked at once more.
   */
  #settle(tenantId: string, known: Known): void {
    this.forget(tenantId)
    this.#known.set(tenantId, { ...this.#nothingKnown(), version: known.version, settled: true })
  }
}

function keyOf(tenantId: string, principalId: string): string {
  return `${tenantId} ${principalId}`
}
