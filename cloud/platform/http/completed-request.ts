import type { Caller } from '../access/caller.ts'
import type { AnonymousCaller } from '../service.ts'

export type CompletedRequest = {
  requestId: string
  method: string
  route: string
  status: number
  ms: number
  caller: Caller | AnonymousCaller | undefined
}
