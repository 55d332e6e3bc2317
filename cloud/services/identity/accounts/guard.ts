import { type Attempt, Attempts, type Failure } from '../../../platform/attempts.ts'
import { type Actor, recordOutside } from '../../../platform/audit/audit.ts'
import type { Context } from '../../../platform/service.ts'
import { WindowLimit } from '../../../platform/window-limit.ts'
import { AccountLimit } from './account-limit.ts'

export type SignInAttempt = {
  attempt: Attempt
  /** The name of the operation: `<contract>.<operation>`. */
  action: string
  requestId: string
}

/** The result of a sign-in attempt, and the principal if the name exists. */
export type AttemptOutcome = {
  isCorrect: boolean
  tenantId: string | undefined
  /**
   * The principal with this name. It is `undefined` for an unknown name. Unknown names are not stored, because users
   * sometimes type their password into the name field.
   */
  principal: { id: string; kind: 'user' | 'server_user' | 'gateway'; name: string } | undefined
}

/**
 * In each minute, a process records at most this many failed attempts of a tenant in the audit trail. The log records
 * all attempts.
 */
const auditedPerMinute = 600

/** `Guard` limits guesses of passwords and secrets, and writes failed attempts to the log and the audit trail. */
export class Guard {
  readonly #context: Context
  readonly #attempts: Attempts
  readonly #accounts: AccountLimit
  readonly #audited = new WindowLimit({ most: auditedPerMinute, windowMs: 60_000 })

  constructor(context: Context) {
    this.#context = context
    this.#attempts = new Attempts({ shared: { name: 'sign-ins', counts: context.sharedCounts } })
    this.#accounts = new AccountLimit(context)
  }

  /** Returns the seconds until the next attempt is allowed. Returns 0 if an attempt is allowed now. */
  waitFor(attempt: Attempt): number {
    return this.#attempts.waitFor(attempt)
  }

  /**
   * Checks a password or a code of a second factor, or returns the seconds to wait before the next attempt. The attempt is counted before its
   * outcome is known. Otherwise a hundred concurrent guesses could all be checked before the first failure is counted.
   */
  async checkPassword<Outcome extends AttemptOutcome>(
    signIn: SignInAttempt & { tenantId: string | undefined },
    check: () => Promise<Outcome>,
  ): Promise<Outcome | { wait: number }> {
    const waitOfAddress = this.waitFor(signIn.attempt)
    if (waitOfAddress > 0) return { wait: waitOfAddress }
    const failures = this.#attempts.failed(signIn.attempt)
    const waitOfAccount = await this.#accounts.begin(signIn).catch((error: unknown) => {
      this.#attempts.uncount(signIn.attempt)
      throw error
    })
    if (waitOfAccount > 0) {
      this.#attempts.uncount(signIn.attempt)
      return { wait: waitOfAccount }
    }
    const outcome = await check().catch(async (error: unknown) => {
      await this.#takeBack(signIn)
      throw error
    })
    if (outcome.isCorrect) {
      this.#attempts.succeeded(signIn.attempt, { counted: true })
      await this.#accounts.succeed(signIn)
    } else await this.#recordFailure(signIn, outcome, failures)
    return outcome
  }

  /** Removes the counted attempt after an overload or a database error, because the password was not checked. */
  async #takeBack(signIn: SignInAttempt & { tenantId: string | undefined }): Promise<void> {
    this.#attempts.uncount(signIn.attempt)
    await this.#accounts
      .takeBack(signIn)
      .catch((error: unknown) =>
        this.#context.log.warn(
          { error },
          'The failed-attempt count could not be corrected after a sign-in whose password was not checked',
        ),
      )
  }

  /**
   * Records a check of a client secret. An attempt is counted only after it has failed, because a random secret cannot
   * be guessed and programs request many tokens at once.
   */
  async recordSecretCheck(signIn: SignInAttempt, outcome: AttemptOutcome): Promise<void> {
    if (outcome.isCorrect) this.#attempts.succeeded(signIn.attempt, { counted: false })
    else await this.#recordFailure(signIn, outcome, this.#attempts.failed(signIn.attempt))
  }

  async #recordFailure(
    { attempt, action, requestId }: SignInAttempt,
    { tenantId, principal }: AttemptOutcome,
    failures: Failure,
  ): Promise<void> {
    const count = principal === undefined ? failures.ofAddress : failures.ofSubject
    const { address } = attempt
    this.#context.log.warn({ requestId, action, principal: principal?.id, address, failures: count }, 'sign-in refused')
    if (tenantId === undefined) return
    // Attempts with unknown names must not use up the audit entries of existing accounts.
    if (!this.#audited.take(`${tenantId} ${principal === undefined ? 'unknown' : 'known'}`)) return
    const actor: Actor = {
      principal: principal ?? { id: null, kind: 'user', name: 'unknown' },
      request: { id: requestId, address },
    }
    const entry = { action, outcome: 'denied' as const, detail: { reason: 'wrong_secret', failures: count } }
    await recordOutside(this.#context.database, { tenantId }, actor, entry)
  }
}
