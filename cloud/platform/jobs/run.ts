import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, Transaction } from '../database/database.ts'
import { isTransient } from '../database/transient.ts'
import type { Log } from '../log.ts'
import { type Again, type Job, type JobKind, LeaseLost } from './job.ts'
import { describeFailure, retryDelayMs, transientDelayMs } from './retry.ts'
import * as store from './store.ts'

export type RunOutcome = 'done' | 'retried' | 'failed' | 'lost'

type Options = { database: Database; log: Log; tenantId: string; claimed: store.Claimed; kind: JobKind }

/** A standing job is what others wait for: a process that died with one must not hold it up for long. */
export const defaults = { maxAttempts: 10, leaseMs: 60_000, standingLeaseMs: 10_000 } as const

const endedTopic = 'jobs.ended/'

export function leaseMsOf({ leaseMs, standing }: Pick<JobKind, 'leaseMs' | 'standing'>): number {
  return leaseMs ?? (standing === undefined ? defaults.leaseMs : defaults.standingLeaseMs)
}

/** The ticket of the run whose job was ended by a committed transaction, when that is what the topic says. */
export function endedTicket(topic: string): string | undefined {
  return topic.startsWith(endedTopic) ? topic.slice(endedTopic.length) : undefined
}

/** One claimed job from its claim to its end. */
export class Run {
  readonly tenantId: string
  readonly claimed: store.Claimed
  readonly kind: JobKind
  readonly #database: Database
  readonly #log: Log
  readonly #controller = new AbortController()
  #leaseEndsAt: number
  #renewal: NodeJS.Timeout | undefined
  #ended = false
  #over = false
  #stopping = false

  constructor({ database, log, tenantId, claimed, kind }: Options) {
    this.tenantId = tenantId
    this.claimed = claimed
    this.kind = kind
    this.#database = database
    this.#log = log
    this.#leaseEndsAt = performance.now() + leaseMsOf(kind)
  }

  /** Unlike the lease, which a claim gives to all it takes, this is the run's alone. */
  get ticket(): string {
    return `${this.claimed.leaseId}/${this.claimed.id}`
  }

  /** The transaction that ended the job has been committed: from here on nothing can undo it. */
  confirmEnded(): void {
    this.#ended = true
  }

  /** The process will not wait any longer. The job goes back to the others without losing an attempt. */
  stop(): void {
    this.#stopping = true
    this.#controller.abort(new Error('The process is stopping'))
  }

  async execute(): Promise<RunOutcome> {
    this.#renewLater()
    try {
      if (this.#isSpent(this.claimed.attempts - 1)) {
        return await this.#fail(new Error('The worker died while it ran'))
      }
      const next = (await this.kind.run(this.#job())) as Again | undefined
      if (!this.#ended) await this.#persist((tx) => this.#end(tx, next))
      return 'done'
    } catch (error) {
      return await this.#failed(error)
    } finally {
      this.#over = true
      clearTimeout(this.#renewal)
    }
  }

  #job(): Job {
    const { id, key, payload, attempts } = this.claimed
    return {
      tenantId: this.tenantId,
      id,
      key,
      payload,
      attempt: attempts,
      signal: this.#controller.signal,
      complete: async (tx, next) => {
        await this.#end(tx, next)
        tx.signal(endedTopic + this.ticket)
      },
    }
  }

  async #end(tx: Transaction, next: Again | undefined): Promise<void> {
    if (!(await store.end(tx, this.claimed))) throw new LeaseLost(this.claimed.id)
    const { standing } = this.kind
    if (next === undefined && standing === undefined) return
    // A time that has come is left to the database's clock: ours may be ahead of it.
    const at = next !== undefined && next.again.getTime() > Date.now() ? next.again : null
    const inMs = next === undefined ? (standing?.everyMs ?? 0) : 0
    await store.wait(tx, this.claimed, { attempts: 0, lastError: null, at, inMs })
  }

  #isSpent(attempts: number): boolean {
    return this.kind.standing === undefined && attempts >= (this.kind.maxAttempts ?? defaults.maxAttempts)
  }

  async #failed(error: unknown): Promise<RunOutcome> {
    const { id, kind, attempts } = this.claimed
    if (this.#ended) {
      this.#log.warn({ error, job: id, kind }, 'A job failed after it had been completed')
      return 'done'
    }
    if (error instanceof LeaseLost) {
      this.#log.warn({ job: id, kind }, 'A job was lost to another worker')
      return 'lost'
    }
    this.#log.warn({ error, job: id, kind, attempt: attempts, tenant: this.tenantId }, 'A job failed')
    try {
      const isFinal = this.#isSpent(attempts) && !this.#stopping && !isTransient(error)
      return isFinal ? await this.#fail(error) : await this.#retry(error)
    } catch (cause) {
      // Its lease runs out and somebody else takes it up.
      this.#log.warn({ error: cause, job: id, kind }, 'The end of a job could not be written')
      return 'lost'
    }
  }

  async #fail(error: unknown): Promise<RunOutcome> {
    const failed = await this.#persist((tx) => store.fail(tx, { ...this.claimed, lastError: describeFailure(error) }))
    return failed ? 'failed' : 'lost'
  }

  async #retry(error: unknown): Promise<RunOutcome> {
    const { attempts } = this.claimed
    const lastError = describeFailure(error)
    const wait = this.#stopping
      ? { attempts: attempts - 1, lastError: null, at: null, inMs: 0 }
      : isTransient(error)
        ? { attempts: attempts - 1, lastError, at: null, inMs: transientDelayMs() }
        : { attempts, lastError, at: null, inMs: this.#retryMs() }
    return this.#persist(async (tx) => {
      if (!(await store.end(tx, this.claimed))) return 'lost'
      await store.wait(tx, this.claimed, wait)
      return 'retried'
    })
  }

  #retryMs(): number {
    const { attempts } = this.claimed
    return this.kind.retryMs?.(attempts) ?? retryDelayMs(attempts)
  }

  /** Repeated through a short outage of the database, so that finished work is not done again. */
  async #persist<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#database.transaction({ tenantId: this.tenantId }, work)
      } catch (error) {
        const delay = Math.min(5_000, retryDelayMs(attempt) / 4)
        if (!isTransient(error) || this.#stopping || performance.now() + delay > this.#leaseEndsAt) throw error
        await sleep(delay)
      }
    }
  }

  #renewLater(): void {
    this.#renewal = setTimeout(() => void this.#renew(), leaseMsOf(this.kind) / 3)
  }

  async #renew(): Promise<void> {
    const leaseMs = leaseMsOf(this.kind)
    const asked = performance.now()
    const renewed = await this.#database
      .transaction({ tenantId: this.tenantId }, (tx) => store.renew(tx, { ...this.claimed, leaseMs }))
      .catch(() => undefined)
    if (this.#over) return
    if (renewed === true) this.#leaseEndsAt = asked + leaseMs
    if (renewed === false || performance.now() > this.#leaseEndsAt) {
      if (!this.#ended) this.#controller.abort(new LeaseLost(this.claimed.id))
      return
    }
    this.#renewLater()
  }
}
