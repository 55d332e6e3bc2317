import type { Caller } from '../../platform/access/caller.ts'
import { WindowLimit } from '../../platform/window-limit.ts'

const everyMs = 20_000
const mostGateways = 20_000

type RecordPresence = (caller: Caller, version: string | undefined) => Promise<unknown>

/** Records that a gateway is online: not with each of its requests, since it polls for work all the time. */
export class Attendance {
  readonly #record: RecordPresence
  readonly #recorded = new WindowLimit({ most: 1, windowMs: everyMs, keys: mostGateways })

  constructor(record: RecordPresence) {
    this.#record = record
  }

  /** A version is recorded at once. */
  async note(caller: Caller, version?: string): Promise<void> {
    const isDue = this.#recorded.take(caller.principal.id)
    if (isDue || version !== undefined) await this.#record(caller, version)
  }
}
