import { type Actor, recordOutside } from '../../platform/audit/audit.ts'
import type { Context } from '../../platform/service.ts'
import { type Attempt, Attempts, type Failure, isWorthRecording } from './attempts.ts'

export type Try = {
  attempt: Attempt
  /** `<contract>.<operation>` */
  action: string
  requestId: string
}

/** How it ended, and who was tried, as far as there is such a somebody. */
export type Tried = {
  right: boolean
  tenantId: string | undefined
  /** A name that belongs to nobody is not kept: people type their password into the wrong field. */
  principal: { id: string; kind: 'user' | 'server_user' | 'gateway'; name: string } | undefined
}

/** Stands between a secret and those who guess at it: slows them down, and says so in the log and the audit trail. */
export class Guard {
  readonly #context: Context
  readonly #attempts = new Attempts()

  constructor(context: Context) {
    this.#context = context
  }

  /** Seconds until this may be tried again; 0 when it may be tried now. */
  waitFor(attempt: Attempt): number {
    return this.#attempts.waitFor(attempt)
  }

  /**
   * Checks a password, or says how long to wait before. The attempt is counted before it is known how it ends: a
   * hundred guesses that arrive at once must not all pass before the first has failed.
   */
  async checkPassword<Outcome extends Tried>(
    what: Try,
    check: () => Promise<Outcome>,
  ): Promise<Outcome | { wait: number }> {
    const wait = this.waitFor(what.attempt)
    if (wait > 0) return { wait }
    const failures = this.#attempts.failed(what.attempt)
    const outcome = await check()
    if (outcome.right) this.#attempts.succeeded(what.attempt, { counted: true })
    else await this.#tell(what, outcome, failures)
    return outcome
  }

  /** A random secret cannot be guessed, and programs ask for many tokens at once: only what failed counts. */
  async noteSecret(what: Try, outcome: Tried): Promise<void> {
    if (outcome.right) this.#attempts.succeeded(what.attempt, { counted: false })
    else await this.#tell(what, outcome, this.#attempts.failed(what.attempt))
  }

  async #tell({ attempt, action, requestId }: Try, { tenantId, principal }: Tried, failures: Failure): Promise<void> {
    const count = principal === undefined ? failures.ofAddress : failures.ofSubject
    if (!isWorthRecording(count)) return
    const { address } = attempt
    this.#context.log.warn({ requestId, action, principal: principal?.id, address, failures: count }, 'sign-in refused')
    if (tenantId === undefined) return
    const who: Actor = {
      principal: principal ?? { id: null, kind: 'user', name: 'unknown' },
      request: { id: requestId, address },
    }
    const entry = { action, outcome: 'denied' as const, detail: { reason: 'wrong_secret', failures: count } }
    await recordOutside(this.#context.database, { tenantId }, who, entry)
  }
}
