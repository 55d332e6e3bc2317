import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, Transaction } from '../database/database.ts'
import { isTransient } from '../database/transient.ts'
import type { Log } from '../log.ts'
import { describeFailure, retryDelayMs, transientDelayMs } from './retry.ts'
import * as store from './store.ts'
import { LeaseLost, type RunAgain, type Task, type TaskKind } from './task.ts'

export type RunOutcome = 'done' | 'retried' | 'failed' | 'lost'

type Options = {
  database: Database
  log: Log
  tenantId: string
  claimed: store.ClaimedTask
  kind: TaskKind
  mayDelayOthers: () => boolean
}

/**
 * The default limits of a task. If the process of a task dies, another process claims the task when the lease expires. The
 * lease is short, so that this takes less than ten seconds.
 */
export const defaults = { maxAttempts: 10, leaseMs: 5_000 } as const

const endedTopic = 'tasks.ended/'

export function leaseMsOf({ leaseMs = defaults.leaseMs }: Pick<TaskKind, 'leaseMs'>): number {
  return leaseMs
}

/**
 * Returns the ticket of a run if the topic signals that a transaction ended the run's task. Returns undefined for any
 * other topic.
 */
export function endedTicket(topic: string): string | undefined {
  return topic.startsWith(endedTopic) ? topic.slice(endedTopic.length) : undefined
}

/** `Run` executes one claimed task: it renews the lease, calls the handler and records the outcome. */
export class Run {
  readonly tenantId: string
  readonly claimed: store.ClaimedTask
  readonly kind: TaskKind
  /** The time from the end of the run until the task is due again. Undefined if the end of the task is not stored. */
  nextInMs: number | undefined
  readonly #database: Database
  readonly #log: Log
  readonly #controller = new AbortController()
  readonly #mayDelayOthers: () => boolean
  #nextWake = Promise.withResolvers<void>()
  #leaseEndsAt: number
  #renewal: NodeJS.Timeout | undefined
  #ended = false
  #over = false
  #stopping = false

  constructor({ database, log, tenantId, claimed, kind, mayDelayOthers }: Options) {
    this.tenantId = tenantId
    this.claimed = claimed
    this.kind = kind
    this.#database = database
    this.#log = log
    this.#mayDelayOthers = mayDelayOthers
    this.#leaseEndsAt = performance.now() + leaseMsOf(kind)
  }

  /** The id of this run. A lease id is not enough, because all tasks of one claim share a lease id. */
  get ticket(): string {
    return `${this.claimed.leaseId}/${this.claimed.id}`
  }

  /**
   * Called when the transaction that ended the task is committed. After this, no error can undo the end of the task.
   */
  confirmEnded(): void {
    this.#ended = true
  }

  /** Called when the topic of the task is signalled during the run. */
  wake(): void {
    this.#nextWake.resolve()
    this.#nextWake = Promise.withResolvers()
  }

  /** Aborts the handler because the process stops. The task waits again, and this attempt is not counted. */
  stop(): void {
    this.#stopping = true
    this.#controller.abort(new Error('The process is stopping'))
  }

  async execute(): Promise<RunOutcome> {
    this.#renewLater()
    try {
      if (this.#isOutOfAttempts(this.claimed.attempts - 1)) {
        return await this.#fail(new Error('The worker stopped during the last attempt'))
      }
      const next = (await this.kind.run(this.#task())) as RunAgain | undefined
      if (!this.#ended) await this.#persist((tx) => this.#end(tx, next))
      return 'done'
    } catch (error) {
      return await this.#failed(error)
    } finally {
      this.#over = true
      clearTimeout(this.#renewal)
    }
  }

  #task(): Task {
    const { id, key, payload, attempts } = this.claimed
    return {
      tenantId: this.tenantId,
      id,
      key,
      payload,
      attempt: attempts,
      signal: this.#controller.signal,
      mayDelayOthers: this.#mayDelayOthers,
      nextWake: () => this.#nextWake.promise,
      complete: async (tx, next) => {
        await this.#end(tx, next)
        tx.signal(endedTopic + this.ticket)
      },
    }
  }

  async #end(tx: Transaction, next: RunAgain | undefined): Promise<void> {
    if (!(await store.end(tx, this.claimed))) throw new LeaseLost(this.claimed.id)
    const { periodic } = this.kind
    if (next === undefined && periodic === undefined) return
    // For a time in the past, the database uses its own current time, because the clock of this process may be ahead
    // of the clock of the database.
    const at = next !== undefined && next.runAgainAt.getTime() > Date.now() ? next.runAgainAt : null
    const inMs = next === undefined ? (periodic?.everyMs ?? 0) : 0
    await this.#wait(tx, { attempts: 0, lastError: null, at, inMs })
  }

  async #wait(tx: Transaction, wait: store.Wait): Promise<void> {
    const isReplaced = await store.wait(tx, this.claimed, wait)
    const inMs = wait.at === null ? wait.inMs : wait.at.getTime() - Date.now()
    this.nextInMs = isReplaced ? 0 : inMs
  }

  #isOutOfAttempts(attempts: number): boolean {
    return this.kind.periodic === undefined && attempts >= (this.kind.maxAttempts ?? defaults.maxAttempts)
  }

  async #failed(error: unknown): Promise<RunOutcome> {
    const { id, kind, attempts } = this.claimed
    if (this.#ended) {
      this.#log.warn({ error, task: id, kind }, 'A task failed after its completion was committed')
      return 'done'
    }
    if (error instanceof LeaseLost) {
      this.#log.warn({ task: id, kind }, 'The lease of a task was lost to another worker')
      return 'lost'
    }
    this.#log.warn({ error, task: id, kind, attempt: attempts, tenant: this.tenantId }, 'A task failed')
    try {
      const isFinal = this.#isOutOfAttempts(attempts) && !this.#stopping && !isTransient(error)
      return isFinal ? await this.#fail(error) : await this.#retry(error)
    } catch (cause) {
      // The lease will expire, and another worker will claim the task.
      this.#log.warn({ error: cause, task: id, kind }, 'The outcome of a task could not be stored')
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
      await this.#wait(tx, wait)
      return 'retried'
    })
  }

  #retryMs(): number {
    const { attempts } = this.claimed
    return this.kind.retryMs?.(attempts) ?? retryDelayMs(attempts)
  }

  /** Repeats the transaction during a short outage of the database, so that finished work is not done again. */
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
    const requestedAt = performance.now()
    const renewed = await this.#database
      .transaction({ tenantId: this.tenantId }, (tx) => store.renew(tx, { ...this.claimed, leaseMs }))
      .catch(() => undefined)
    if (this.#over) return
    if (renewed === true) this.#leaseEndsAt = requestedAt + leaseMs
    if (renewed === false || performance.now() > this.#leaseEndsAt) {
      if (!this.#ended) this.#controller.abort(new LeaseLost(this.claimed.id))
      return
    }
    this.#renewLater()
  }
}
