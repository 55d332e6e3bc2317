import type { Caller } from '../access/caller.ts'
import type { AnonymousCaller } from '../service.ts'
import type { Work } from '../work.ts'

export type CompletedRequest = {
  requestId: string
  method: string
  route: string
  status: number
  ms: number
  caller: Caller | AnonymousCaller | undefined
  /** True if the duration does not depend only on the platform: the request waits for an event, or transfers a file. */
  waits: boolean
  work: Work
}
