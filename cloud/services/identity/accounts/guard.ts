import { type Attempt, Attempts, type Failure } from '../../../platform/attempts.ts'
import { type Actor, recordOutside } from '../../../platform/audit/audit.ts'
import type { Context } from '../../../platform/service.ts'
import { WindowLimit } from '../../../platform/window-limit.ts'
import { AccountLimit } from './account-limit.ts'

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

/** Failed attempts of a tenant that the audit trail gets per minute and process; the log gets all of them. */
const auditedPerMinute = 600

/** `Guard` limits guesses of passwords and secrets, and puts failed ones into the log and the audit trail. */
export class Guard {
  readonly #context: Context
  readonly #attempts = new Attempts()
  readonly #accounts: AccountLimit
  readonly #audited = new WindowLimit({ most: auditedPerMinute, windowMs: 60_000 })

  constructor(context: Context) {
    this.#context = context
    this.#accounts = new AccountLimit(context)
  }

  /** Seconds until this may be tried again; 0 when it may be tried now. */
  waitFor(attempt: Attempt): number {
    return this.#attempts.waitFor(attempt)
  }

  /**
   * Checks a password, or returns how long to wait before. The attempt is counted before its outcome is known: a
   * hundred guesses that arrive at once must not all pass before the first has failed.
   */
  async checkPassword<Outcome extends Tried>(
    what: Try & { tenantId: string | undefined },
    check: () => Promise<Outcome>,
  ): Promise<Outcome | { wait: number }> {
    const waitOfAddress = this.waitFor(what.attempt)
    if (waitOfAddress > 0) return { wait: waitOfAddress }
    const failures = this.#attempts.failed(what.attempt)
    const waitOfAccount = await this.#accounts.begin(what).catch((error: unknown) => {
      this.#attempts.takeBack(what.attempt)
      throw error
    })
    if (waitOfAccount > 0) {
      this.#attempts.takeBack(what.attempt)
      return { wait: waitOfAccount }
    }
    const outcome = await check().catch(async (error: unknown) => {
      await this.#takeBack(what)
      throw error
    })
    if (outcome.right) {
      this.#attempts.succeeded(what.attempt, { counted: true })
      await this.#accounts.succeed(what)
    } else await this.#tell(what, outcome, failures)
    return outcome
  }

  /** The password was not checked (overload, database error), so the attempt is not a failed one. */
  async #takeBack(what: Try & { tenantId: string | undefined }): Promise<void> {
    this.#attempts.takeBack(what.attempt)
    await this.#accounts
      .takeBack(what)
      .catch((error: unknown) =>
        this.#context.log.warn({ error }, 'A sign-in that was not checked still counts as failed'),
      )
  }

  /** A random secret cannot be guessed, and programs ask for many tokens at once: only what failed counts. */
  async noteSecret(what: Try, outcome: Tried): Promise<void> {
    if (outcome.right) this.#attempts.succeeded(what.attempt, { counted: false })
    else await this.#tell(what, outcome, this.#attempts.failed(what.attempt))
  }

  async #tell({ attempt, action, requestId }: Try, { tenantId, principal }: Tried, failures: Failure): Promise<void> {
    const count = principal === undefined ? failures.ofAddress : failures.ofSubject
    const { address } = attempt
    this.#context.log.warn({ requestId, action, principal: principal?.id, address, failures: count }, 'sign-in refused')
    if (tenantId === undefined) return
    // Tried names that do not exist must not use up the entries of existing accounts.
    if (!this.#audited.take(`${tenantId} ${principal === undefined ? 'unknown' : 'known'}`)) return
    const who: Actor = {
      principal: principal ?? { id: null, kind: 'user', name: 'unknown' },
      request: { id: requestId, address },
    }
    const entry = { action, outcome: 'denied' as const, detail: { reason: 'wrong_secret', failures: count } }
    await recordOutside(this.#context.database, { tenantId }, who, entry)
  }
}
