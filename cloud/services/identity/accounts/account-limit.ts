import { type Attempt, networkOf, type Rule, waitAfter } from '../../../platform/attempts.ts'
import type { Context } from '../../../platform/service.ts'
import * as store from './account-limit-store.ts'

/**
 * `AccountLimit` limits wrong passwords for each account over all addresses and processes, with exponential back-off. The
 * wait is at most one minute, so no account is locked permanently. Networks where the user signed in before are exempt, so
 * that an attacker in another network cannot lock an administrator out. Names that do not exist are limited in the same
 * way, so the limit does not reveal which accounts exist.
 */

const perAccount: Rule = { free: 10, firstWaitSeconds: 1, longestWaitSeconds: 60, forgetSeconds: 3_600 }
const networkKnownDays = 90
const counterBytes = 2

/**
 * An attempt to sign in. `tenantId` is `undefined` when the tenant of the sign-in name does not exist. Only the limits for
 * each address apply then.
 */
export type AccountAttempt = { attempt: Attempt; tenantId: string | undefined }

export class AccountLimit {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  /**
   * Counts an attempt as failed before its outcome is known, and returns 0. If the limit is reached, does not count the
   * attempt and returns the seconds to wait.
   */
  async begin(signIn: AccountAttempt): Promise<number> {
    if (signIn.tenantId === undefined) return 0
    const { account, counter, network } = this.#keysOf(signIn.attempt)
    return this.#context.database.transaction({ tenantId: signIn.tenantId }, async (tx) => {
      const nowMs = Date.now()
      const now = new Date(nowMs).toISOString()
      const expiresAt = new Date(nowMs + perAccount.forgetSeconds * 1000).toISOString()
      const { failures, lastAt } = await store.lockFailures(tx, { account: counter, now, expiresAt })
      const lastAtMs = Date.parse(lastAt)
      const recent = nowMs - lastAtMs > perAccount.forgetSeconds * 1000 ? 0 : failures
      const wait = waitAfter(perAccount, { failures: recent, lastAt: lastAtMs }, nowMs)
      if (wait > 0 && !(await store.isKnownNetwork(tx, { account, network }, now))) return wait
      await store.setFailures(tx, { account: counter, failures: recent + 1, now, expiresAt })
      return 0
    })
  }

  /** Removes the counted failure after a correct password, and stores the network as known for the account. */
  async succeed(signIn: AccountAttempt): Promise<void> {
    if (signIn.tenantId === undefined) return
    const { account, counter, network } = this.#keysOf(signIn.attempt)
    const until = new Date(Date.now() + networkKnownDays * 86_400_000).toISOString()
    await this.#context.database.transaction({ tenantId: signIn.tenantId }, async (tx) => {
      await store.decrementFailure(tx, counter)
      if (network !== '') await store.rememberNetwork(tx, { account, network }, until)
    })
  }

  /** Removes the counted failure, because the password was not checked. */
  async takeBack({ attempt, tenantId }: AccountAttempt): Promise<void> {
    if (tenantId === undefined) return
    const { counter } = this.#keysOf(attempt)
    await this.#context.database.transaction({ tenantId }, (tx) => store.decrementFailure(tx, counter))
  }

  /**
   * Returns the keys under which an attempt is counted. Names that do not exist are counted too. A tenant has at most
   * 65,536 counters, so the number of rows is limited. Several names can share a counter.
   */
  #keysOf({ subject, address }: Attempt): { account: Buffer; counter: Buffer; network: string } {
    const account = this.#context.secrets.mac('sign-in account', subject)
    return { account, counter: account.subarray(0, counterBytes), network: networkOf(address ?? '') }
  }
}
