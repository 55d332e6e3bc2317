import type { Database } from './database/database.ts'
import { listActiveTenants } from './gauge-store.ts'
import type { Log } from './log.ts'
import type { GaugeRow, TenantGauge } from './tenant-gauge.ts'

export type Sample = { tenant: string; label: string | undefined; value: number }

type TenantGaugesOptions = {
  database: Database
  gauges: readonly TenantGauge[]
  log: Log
  now?: () => number
}

const limits = {
  /** The number of tenants with an own label. The values of the others are combined, so that the series stay few. */
  tenants: 200,
  /** The shortest time between two readings of the database. */
  intervalMs: 15_000,
  /** A reading takes at most this fraction of the time, so that many tenants do not load the database. */
  share: 0.02,
  /** How long a scrape waits for a reading. */
  waitMs: 3_000,
  /** Older values are not shown. */
  validMs: 10 * 60_000,
} as const

/** The label of the tenants without an own label. */
export const otherTenants = 'other tenants'

/**
 * `TenantGauges` reads the gauges of all active tenants, when a scrape needs them and the last reading is old. The values
 * are the same in all processes of the platform.
 */
export class TenantGauges {
  readonly #options: TenantGaugesOptions
  #samples = new Map<string, Sample[]>()
  #readAt = Number.NEGATIVE_INFINITY
  #nextAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  constructor(options: TenantGaugesOptions) {
    this.#options = options
  }

  get gauges(): readonly TenantGauge[] {
    return this.#options.gauges
  }

  /** The age of the values in seconds. Undefined before the first reading. */
  get ageSeconds(): number | undefined {
    return Number.isFinite(this.#readAt) ? (this.#now() - this.#readAt) / 1_000 : undefined
  }

  /** Returns the values of a gauge. Waits a short time for a reading that is in progress. */
  async samplesOf({ name }: TenantGauge): Promise<readonly Sample[]> {
    await this.#refresh()
    if (this.#now() - this.#readAt > limits.validMs) return []
    return this.#samples.get(name) ?? []
  }

  async #refresh(): Promise<void> {
    if (this.#reading === undefined && this.#now() >= this.#nextAt)
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined
      })
    if (this.#reading === undefined) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, limits.waitMs)
    await Promise.race([this.#reading, promise])
    clearTimeout(timer)
  }

  async #read(): Promise<void> {
    const { database, gauges, log } = this.#options
    const startedAt = this.#now()
    try {
      const samples = new Map<string, Sample[]>(gauges.map(({ name }) => [name, []]))
      const tenants = await database.reference(listActiveTenants)
      for (const [index, { id, name }] of tenants.entries()) {
        const tenant = index < limits.tenants ? name : otherTenants
        const rows = await database.read({ tenantId: id }, (handle) =>
          Promise.all(gauges.map((gauge) => handle.rows(gauge.statement, ...(gauge.values?.() ?? [])))),
        )
        for (const [at, gauge] of gauges.entries())
          for (const row of rows[at] ?? []) add(samples.get(gauge.name) ?? [], gauge, { tenant, ...row })
      }
      this.#samples = samples
      this.#readAt = this.#now()
    } catch (error) {
      log.debug({ error }, 'The metrics of the tenants cannot be read')
    }
    const tookMs = this.#now() - startedAt
    this.#nextAt = startedAt + Math.max(limits.intervalMs, tookMs / limits.share)
  }

  #now(): number {
    return this.#options.now?.() ?? performance.now()
  }
}

/** Adds a value. Values of tenants that share a label are combined. */
function add(
  samples: Sample[],
  { combine }: TenantGauge,
  { tenant, label, value }: GaugeRow & { tenant: string },
): void {
  const isShared = tenant === otherTenants
  const before = isShared ? samples.find((each) => each.tenant === tenant && each.label === label) : undefined
  if (before === undefined) samples.push({ tenant, label, value: Number(value) })
  else before.value = combine === 'sum' ? before.value + Number(value) : Math.max(before.value, Number(value))
}
