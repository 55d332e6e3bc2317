import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { client, type Exchange, overHttp, type Transport } from '@millwright/api/client.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { Problem } from '@millwright/api/problem.ts'
import { type Caller, callerOf, tokenOf, until } from '../platform.ts'
import type { Replicas } from '../replicas.ts'
import type { LoadTask } from '../upgrade-load.ts'
import type { Outcomes } from './outcomes.ts'

/**
 * `EnduranceLoad` runs tasks at a limited rate, repeats requests that an injected fault interrupts, and counts all outcomes. A
 * POST is repeated with the same idempotency key, so it has one effect.
 */

const requestLimitMs = 120_000
/** A request that fails for this time ends its round, even during a fault. */
const retryLimitMs = 300_000
const retryMs = 200
const tokenMs = 60_000
const idleLimitMs = 300_000

/** Thrown by a task when its work was interrupted, which is only allowed during a fault. */
export class InterruptedWork extends Error {}

export class EnduranceLoad {
  readonly outcomes: Outcomes
  readonly #site: Replicas
  readonly #stopped = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #tasks: LoadTask[] = []
  /** The acknowledged requests by operation, such as `inventory.createAsset`. */
  readonly acknowledged = new Map<string, number>()
  /** The repetitions of requests after a failure, by operation. */
  readonly repeated = new Map<string, number>()
  #token = ''
  #tokenAt = Number.NEGATIVE_INFINITY
  #renewal: Promise<void> | undefined
  #isPaused = false
  #activeRounds = 0

  constructor(site: Replicas, outcomes: Outcomes) {
    this.#site = site
    this.outcomes = outcomes
  }

  get baseUrl(): string {
    return this.#site.baseUrl
  }

  /** Returns the current token of the service account. */
  async token(): Promise<string> {
    if (performance.now() - this.#tokenAt > tokenMs) {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined
      })
      await this.#renewal
    }
    return this.#token
  }

  /** Returns the clients of all services. Their requests are counted under `kind`. */
  async caller(kind: string): Promise<Caller> {
    const limited: typeof fetch = (input, init) =>
      fetch(input, { ...init, signal: AbortSignal.timeout(requestLimitMs) })
    const transport = overHttp({ baseUrl: this.baseUrl, token: () => this.token(), fetch: limited })
    const repeating = this.#repeating(kind, transport)
    const clients = Object.entries(contracts).map(([name, contract]) => [name, client(contract, repeating)])
    const { token } = await callerOf({ baseUrl: this.baseUrl, access: this.#site.access }, await this.token())
    return { ...Object.fromEntries(clients), token }
  }

  /** Starts tasks. Each task repeats its round until the load is stopped. */
  start(tasks: readonly LoadTask[]): void {
    this.#tasks.push(...tasks)
    this.#running.push(...tasks.map((task) => this.#repeat(task)))
  }

  /** Ends the current rounds and starts no others until `resume` is called. */
  async pause(): Promise<void> {
    this.#isPaused = true
    await until('the rounds of the load end', () => this.#activeRounds === 0, idleLimitMs)
  }

  resume(): void {
    this.#isPaused = false
  }

  /** Ends all tasks after their current rounds. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await Promise.all(this.#running)
  }

  /** Checks the results of all tasks. Returns the number of checked objects by task. */
  async check(): Promise<Map<string, number>> {
    const checked = new Map<string, number>()
    for (const task of this.#tasks) {
      try {
        checked.set(task.name, (checked.get(task.name) ?? 0) + (await task.check()))
      } catch (error) {
        this.outcomes.unexpectedError(`check of ${task.name}`, error)
      }
    }
    return checked
  }

  async #repeat(task: LoadTask): Promise<void> {
    const { signal } = this.#stopped
    const pause = (ms: number) => delay(ms, undefined, { signal }).catch(() => {})
    for (let number = 0; !signal.aborted; ) {
      if (this.#isPaused) {
        await pause(retryMs)
        continue
      }
      await this.#round(task, number)
      number += 1
      await pause(task.pauseMs)
    }
  }

  async #round(task: LoadTask, number: number): Promise<void> {
    const startedAt = performance.now()
    this.#activeRounds += 1
    try {
      await task.round(number)
      this.outcomes.completed(`rounds of ${task.name}`)
    } catch (error) {
      const kind = `rounds of ${task.name}`
      if (error instanceof InterruptedWork) this.outcomes.failed(kind, startedAt, error)
      else this.outcomes.unexpectedError(kind, error)
      await delay(retryMs)
    } finally {
      this.#activeRounds -= 1
    }
  }

  async #renew(): Promise<void> {
    this.#token = await this.repeat(
      'sign-in',
      () => tokenOf(this.baseUrl, this.#site.access),
      () => true,
    )
    this.#tokenAt = performance.now()
  }

  #repeating(kind: string, transport: Transport): Transport {
    return async (contract, operation, input) => {
      const name = `${contract.name}.${operation}`
      const { method } = contract.operations[operation] ?? {}
      const key = method === 'POST' ? { 'idempotency-key': randomUUID() } : {}
      const attempt = async () => {
        const exchange = await transport(contract, operation, { ...input, headers: { ...key, ...input.headers } })
        if (isInterruption(exchange)) throw new InterruptedRequest(operation, exchange)
        return exchange
      }
      const isRepeated = (error: unknown) => {
        if (isRetryable(error)) increment(this.repeated, name)
        return isRetryable(error)
      }
      const exchange = await this.repeat(kind, attempt, isRepeated)
      this.outcomes.completed(kind)
      if (exchange.status < 400) increment(this.acknowledged, name)
      return exchange
    }
  }

  /** Repeats an attempt until it succeeds. Each failure is counted. */
  async repeat<Result>(
    kind: string,
    attempt: () => Promise<Result>,
    isRepeated: (error: unknown) => boolean,
  ): Promise<Result> {
    const firstAt = performance.now()
    for (;;) {
      const startedAt = performance.now()
      try {
        return await attempt()
      } catch (error) {
        if (!isRepeated(error) || performance.now() - firstAt > retryLimitMs) throw error
        this.outcomes.failed(kind, startedAt, error)
        await delay(retryMs)
      }
    }
  }
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

/** Thrown for a response that a fault can cause. */
class InterruptedRequest extends Error {
  constructor(operation: string, { status, body }: Exchange) {
    const { code, detail } = (body ?? {}) as { code?: string; detail?: string }
    super(`${operation} was answered with ${status} ${code ?? ''} ${detail ?? ''}`)
  }
}

/** Returns true for responses of a platform or a load balancer that ask the client to repeat the request. */
function isInterruption({ status, body }: Exchange): boolean {
  // The claim of a killed process on an idempotency key expires after a while.
  const isClaimed = (body as { code?: string } | undefined)?.code === 'request_in_progress'
  return isClaimed || status === 502 || status === 503 || status === 504
}

/** Returns true for lost connections and responses that ask the client to repeat the request. */
function isRetryable(error: unknown): boolean {
  const isTimeout = error instanceof DOMException && error.name === 'TimeoutError'
  return error instanceof InterruptedRequest || isTimeout || (error instanceof TypeError && !(error instanceof Problem))
}
