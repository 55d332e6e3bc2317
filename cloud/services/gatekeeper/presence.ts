import type { Caller } from '../../platform/access/caller.ts'
import { WindowLimit } from '../../platform/window-limit.ts'

const everyMs = 20_000
const mostGateways = 20_000

type RecordPresence = (caller: Caller, version: string | undefined) => Promise<unknown>

/** `GatewayPresence` records that a gateway is online. A gateway polls continuously, so not every request is recorded. */
export class GatewayPresence {
  readonly #record: RecordPresence
  readonly #recorded = new WindowLimit({ most: 1, windowMs: everyMs, keys: mostGateways })

  constructor(record: RecordPresence) {
    this.#record = record
  }

  /** Records that the gateway is online, if the last record is old enough. A version is always recorded immediately. */
  async note(caller: Caller, version?: string): Promise<void> {
    const isDue = this.#recorded.take(caller.principal.id)
    if (isDue || version !== undefined) await this.#record(caller, version)
  }
}
