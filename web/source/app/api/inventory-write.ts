import { useQueryClient } from '@tanstack/react-query'
import { showSuccess } from '../../components/feedback/toast.ts'
import { useText } from '../language/language-context.tsx'
import { appMessages } from '../shell/messages.ts'
import { Failure } from './failure.ts'
import { keyOf } from './queries.ts'

/**
 * The headers of a write. The server waits up to 20 s until the write is applied. A write that takes longer stays in
 * the queue and is applied later.
 */
export const waitHeaders = { prefer: 'wait=20' }

/** `AcceptedWrite` is the response to an accepted write. */
type AcceptedWrite = { data: { state?: string; detail?: Record<string, unknown> } }

type ProblemResult = { title: string; code: string; detail?: string; status?: number }

/**
 * Returns true if the write is applied, and false if it is still queued. Throws the problem if the write was rejected.
 */
export function isApplied({ data: { state, detail } }: AcceptedWrite): boolean {
  const result = detail?.result
  const problem = (Array.isArray(result) ? result : [result]).find(isProblemResult)
  if (problem !== undefined) throw new Failure(problem)
  return state !== 'queued'
}

function isProblemResult(result: unknown): result is ProblemResult {
  return typeof result === 'object' && result !== null && 'code' in result && 'title' in result
}

/**
 * Returns a function that waits for an inventory write, shows a success message as a toast, and invalidates all
 * inventory queries.
 */
export function useInventoryWrite() {
  const text = useText(appMessages)
  const queryClient = useQueryClient()
  return async (request: Promise<AcceptedWrite | object>, done: string): Promise<void> => {
    const answer = await request
    const isDone = !('data' in answer) || Array.isArray(answer.data) || isApplied(answer as AcceptedWrite)
    showSuccess(isDone ? done : text.queued)
    await queryClient.invalidateQueries({ queryKey: keyOf('inventory') })
  }
}
