import type { GatewayHost } from '@millwright/api/onboarding.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { WindowLimit } from '../../platform/window-limit.ts'

const everyMs = 20_000
const mostGateways = 20_000

/** What a gateway reports about itself. */
export type GatewayFacts = { version: string; host?: GatewayHost | undefined }

type RecordPresence = (caller: Caller, facts?: Partial<GatewayFacts>) => Promise<unknown>

/** `GatewayPresence` records that a gateway is online. A gateway polls continuously, so not every request is recorded. */
export class GatewayPresence {
  readonly #record: RecordPresence
  readonly #recorded = new WindowLimit({ most: 1, windowMs: everyMs, keys: mostGateways })

  constructor(record: RecordPresence) {
    this.#record = record
  }

  /** Records that the gateway is online, if the last record is old enough. A report is always recorded immediately. */
  async note(caller: Caller, facts?: GatewayFacts): Promise<void> {
    const isDue = this.#recorded.take(caller.principal.id)
    if (isDue || facts !== undefined) await this.#record(caller, facts)
  }
}
