import { LruMap } from 'toad-cache'
import type { Database, ReferenceHandle } from '../database/database.ts'
import type { DirectoryEntry, DirectoryKind, Tenant } from './store.ts'
import * as store from './store.ts'

type CachedTenant = { tenant: Tenant; confirmedAtMs: number }

/**
 * The maximum number of cached tenants. It is larger than the number of tenants that use one process at the same time.
 */
const limit = 10_000

/** The maximum age of an entry. It limits the age if the poll of the access cache fails. */
const trustMs = 5_000

/** `TenantDirectory` caches the tenants of this process. The poll of the access cache calls `refresh`. */
export class TenantDirectory {
  readonly #database: Database
  readonly #known = new LruMap<CachedTenant>(limit)
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
   * caller verifies a secret next.
   */
  async lookUp(kind: DirectoryKind, key: string): Promise<DirectoryEntry | undefined> {
    return this.#database.reference((handle) => store.findDirectoryEntry(handle, { kind, key }))
  }

  async refresh(handle: ReferenceHandle): Promise<void> {
    const before = new Map([...this.#known.items].map(([id, { value }]) => [id, value]))
    if (before.size === 0) return
    const confirmedAtMs = performance.now()
    const rows = await store.listTenantsById(handle, [...before.keys()])
    const found = new Map(rows.map((tenant) => [tenant.id, tenant]))
    for (const [id, known] of before) {
      // The entry was read again during this refresh, so it is newer than the row.
      if (this.#known.get(id) !== known) continue
      const tenant = found.get(id)
      if (tenant === undefined) this.forget(id)
      else this.#known.set(id, { tenant, confirmedAtMs })
    }
  }

  forget(id: string): void {
    const known = this.#known.get(id)
    if (known !== undefined) this.#ids.delete(known.tenant.name)
    this.#known.delete(id)
  }

  #cached(id: string | undefined): Tenant | undefined {
    const known = id === undefined ? undefined : this.#known.get(id)
    return known !== undefined && performance.now() - known.confirmedAtMs < trustMs ? known.tenant : undefined
  }

  async #lookUpAndCache(find: (handle: ReferenceHandle) => Promise<Tenant | undefined>): Promise<Tenant | undefined> {
    const confirmedAtMs = performance.now()
    const tenant = await this.#database.reference(find)
    if (tenant === undefined) return undefined
    this.#known.set(tenant.id, { tenant, confirmedAtMs })
    this.#ids.set(tenant.name, tenant.id)
    return tenant
  }
}
