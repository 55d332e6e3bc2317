import { PayloadCache } from '../../platform/payload-cache.ts'

/** In characters of text. As objects the payloads take several times as much memory. */
const capacity = 4 * 1024 * 1024

/** The payloads of accepted writes, for the applier of this process. */
export class Handover extends PayloadCache<unknown> {
  constructor() {
    super({ capacity })
  }
}
