import type { Caller } from '../access/caller.ts'
import type { Visitor } from '../service.ts'

export type Answered = {
  requestId: string
  method: string
  route: string
  status: number
  ms: number
  caller: Caller | Visitor | undefined
}
