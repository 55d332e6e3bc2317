import { type Actor, recordOutside } from '../../platform/audit/audit.ts'
import type { Context } from '../../platform/service.ts'
import { type Attempt, Attempts, isWorthRecording } from './attempts.ts'

/** Who was tried, as far as there is such a somebody. */
export type Tried = {
  attempt: Attempt
  /** `<contract>.<operation>` */
  action: string
  tenantId: string | undefined
  /** A name that belongs to nobody is not kept: people type their password into the wrong field. */
  principal: { id: string; kind: 'user' | 'server_user'; name: string } | undefined
  requestId: string
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
   * Checks a password and counts the attempt before it is known how it ends: a hundred guesses that arrive at once
   * must not all pass before the first has failed.
   */
  async checkPassword(tried: Tried, check: () => Promise<boolean>): Promise<boolean> {
    const failures = this.#attempts.failed(tried.attempt)
    if (await check()) {
      this.#attempts.succeeded(tried.attempt, { counted: true })
      return true
    }
    await this.#tell(tried, failures)
    return false
  }

  /** A random secret cannot be guessed, and programs ask for many tokens at once: only what failed counts. */
  async checkSecret(tried: Tried, right: boolean): Promise<boolean> {
    if (right) this.#attempts.succeeded(tried.attempt, { counted: false })
    else await this.#tell(tried, this.#attempts.failed(tried.attempt))
    return right
  }

  async #tell(tried: Tried, failures: { ofSubject: number; ofAddress: number }): Promise<void> {
    const { attempt, action, tenantId, principal, requestId } = tried
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
