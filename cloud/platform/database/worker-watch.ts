import { type Address, openClient } from './connection.ts'

type Options = {
  address: Address
  /** Returns the tenants that hold or wait for a connection. */
  tenants: () => readonly string[]
  /** Receives the tenants whose worker does not respond. */
  refuse: (tenants: ReadonlySet<string>) => void
}

/** The minimum time between two checks. */
const pauseMs = 2_000
/** The time until a worker that did not respond is checked again, before its tenants are refused. */
const confirmMs = 200
/** How long a worker may take to accept a connection. */
const connectMs = 2_000
/** A check that takes longer is aborted. */
const checkMs = 20_000

/**
 * `WorkerWatch` finds workers of a Citus cluster that do not respond, for example because their disk does not respond. The
 * coordinator waits for such a worker until the statement times out. Its tenants would use all connections of the pool in
 * this time. The pool therefore starts a check when no connection is free. If a worker does not respond in two checks, the
 * pool refuses its tenants and closes their connections. One failed check is not enough: a worker can be short of
 * connections for a moment. The check is repeated until all workers respond.
 */
export class WorkerWatch {
  readonly #options: Options
  #checkedAt = -Infinity
  #isChecking = false
  /** The groups of the workers that did not respond in the last check. */
  #silent: ReadonlySet<number> = new Set()
  #refused: ReadonlySet<string> = new Set()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Starts a check, unless one runs or has just ended. */
  check(): void {
    if (!this.#isChecking && performance.now() - this.#checkedAt >= pauseMs) void this.#run()
  }

  async #run(): Promise<void> {
    if (this.#isChecking || this.#closed) return
    this.#isChecking = true
    clearTimeout(this.#timer)
    const former = this.#silent
    // A check that fails shows nothing about the workers, so the tenants that are refused stay refused.
    this.#refused = await this.#findTenants().catch(() => this.#refused)
    this.#isChecking = false
    this.#checkedAt = performance.now()
    if (this.#closed) return
    this.#options.refuse(this.#refused)
    if (this.#silent.size === 0) return
    const isConfirmed = this.#silent.isSubsetOf(former)
    this.#timer = setTimeout(() => void this.#run(), isConfirmed ? pauseMs : confirmMs).unref()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  async #findTenants(): Promise<ReadonlySet<string>> {
    const client = await openClient(this.#options.address, { query_timeout: checkMs })
    try {
      await client.query(`set citus.node_connection_timeout = ${connectMs}`)
      const { rows: lost } = await client.query<{ group: number }>(
        `select groupid as group from pg_dist_node
         where noderole = 'primary' and isactive and groupid <> 0
           and not citus_check_connection_to_node(nodename, nodeport)`,
      )
      const silent = new Set(lost.map(({ group }) => group))
      const confirmed = silent.intersection(this.#silent)
      this.#silent = silent
      if (confirmed.size === 0) return new Set()
      const { rows } = await client.query<{ id: string }>(
        `select t.id::text as id
         from unnest($1::uuid[]) as t (id)
         join pg_dist_placement p
           on p.shardid = get_shard_id_for_distribution_column('access_versions'::regclass, t.id)
         where p.groupid = any($2::integer[])`,
        [this.#options.tenants(), [...confirmed]],
      )
      return new Set(rows.map(({ id }) => id))
    } finally {
      client.end().catch(() => {})
    }
  }
}
