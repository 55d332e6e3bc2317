import { LruMap } from 'toad-cache'
import type { Database, ReferenceHandle } from '../database/database.ts'
import type { DirectoryEntry, DirectoryKind, Tenant } from './store.ts'
import * as store from './store.ts'

type CachedTenant = { tenant: Tenant; confirmedAtMs: number }

/**
 * The maximum number of cached tenants. It is larger than the number of tenants that use one process at the same time.
 */
const limit = 10_000

/**
 * The maximum age of an entry. The poll of the access cache normally keeps entries fresh, so this limit only matters if
 * the poll fails.
 */
const trustMs = 5_000

/** `TenantDirectory` caches the tenants of this process. The poll of the access cache calls `refresh`. */
export class TenantDirectory {
  readonly #database: Database
  readonly #cache = new LruMap<CachedTenant>(limit)
  readonly #ids = new LruMap<string>(limit)

  constructor({ database }: { database: Database }) {
    this.#database = database
  }

  async byId(id: string): Promise<Tenant | undefined> {
    return this.#cached(id) ?? this.#lookUpAndCache((handle) => store.findTenantById(handle, id))
  }

  async byName(name: string): Promise<Tenant | undefined> {
    return this.#cached(this.#ids.get(name)) ?? this.#lookUpAndCache((handle) => store.findTenantByName(handle, name))
  }

  /**
   * Returns the owner of a client id, sign-in name (`name@tenant`) or gateway id. The result is not cached, because the
   * caller then verifies a secret and needs the current owner.
   */
  async lookUp(kind: DirectoryKind, key: string): Promise<DirectoryEntry | undefined> {
    return this.#database.reference((handle) => store.findDirectoryEntry(handle, { kind, key }))
  }

  async refresh(handle: ReferenceHandle): Promise<void> {
    const before = new Map([...this.#cache.items].map(([id, { value }]) => [id, value]))
    if (before.size === 0) return
    const confirmedAtMs = performance.now()
    const rows = await store.listTenantsById(handle, [...before.keys()])
    const tenants = new Map(rows.map((tenant) => [tenant.id, tenant]))
    for (const [id, cached] of before) {
      // The entry was read again during this refresh, so it is newer than the row.
      if (this.#cache.get(id) !== cached) continue
      const tenant = tenants.get(id)
      if (tenant === undefined) this.forget(id)
      else this.#cache.set(id, { tenant, confirmedAtMs })
    }
  }

  forget(id: string): void {
    const cached = this.#cache.get(id)
    if (cached !== undefined) this.#ids.delete(cached.tenant.name)
    this.#cache.delete(id)
  }

  #cached(id: string | undefined): Tenant | undefined {
    const cached = id === undefined ? undefined : this.#cache.get(id)
    return cached !== undefined && performance.now() - cached.confirmedAtMs < trustMs ? cached.tenant : undefined
  }

  async #lookUpAndCache(find: (handle: ReferenceHandle) => Promise<Tenant | undefined>): Promise<Tenant | undefined> {
    const confirmedAtMs = performance.now()
    const tenant = await this.#database.reference(find)
    if (tenant === undefined) return undefined
    this.#cache.set(tenant.id, { tenant, confirmedAtMs })
    this.#ids.set(tenant.name, tenant.id)
    return tenant
  }
}
