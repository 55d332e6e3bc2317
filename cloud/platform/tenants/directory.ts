import { LruMap } from 'toad-cache'
import type { Database, ReferenceHandle } from '../database/database.ts'
import type { DirectoryEntry, DirectoryKind, Tenant } from './store.ts'
import * as store from './store.ts'

type Known = { tenant: Tenant; confirmedAtMs: number }

/** More tenants than one process works for at once. */
const limit = 10_000

/** How old a look may be before it is taken again, should whoever polls not get through. */
const trustMs = 5_000

/** The tenants this process works for; the access cache, which polls anyway, calls `refresh`. */
export class TenantDirectory {
  readonly #database: Database
  readonly #known = new LruMap<Known>(limit)
  readonly #ids = new LruMap<string>(limit)

  constructor({ database }: { database: Database }) {
    this.#database = database
  }

  async byId(id: string): Promise<Tenant | undefined> {
    return this.#recall(id) ?? this.#look((handle) => store.findTenantById(handle, id))
  }

  async byName(name: string): Promise<Tenant | undefined> {
    return this.#recall(this.#ids.get(name)) ?? this.#look((handle) => store.findTenantByName(handle, name))
  }

  /** Whose client id, sign-in name (`name@tenant`) or gateway id that is. Not cached: a secret is checked next. */
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
      // What was read anew in the meantime is newer than what was found here.
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

  #recall(id: string | undefined): Tenant | undefined {
    const known = id === undefined ? undefined : this.#known.get(id)
    return known !== undefined && performance.now() - known.confirmedAtMs < trustMs ? known.tenant : undefined
  }

  async #look(find: (handle: ReferenceHandle) => Promise<Tenant | undefined>): Promise<Tenant | undefined> {
    const confirmedAtMs = performance.now()
    const tenant = await this.#database.reference(find)
    if (tenant === undefined) return undefined
    this.#known.set(tenant.id, { tenant, confirmedAtMs })
    this.#ids.set(tenant.name, tenant.id)
    return tenant
  }
}
