import { useQueryClient } from '@tanstack/react-query'
import { showSuccess } from '../../components/feedback/toast.ts'
import { useText } from '../language/language-context.tsx'
import { appMessages } from '../shell/messages.ts'
import { Failure } from './failure.ts'
import { keyOf } from './queries.ts'

/** Most writes are applied within a moment; a longer queue goes on by itself. */
export const waitHeaders = { prefer: 'wait=20' }

/** An accepted write that was waited for. */
type AcceptedWrite = { data: { state?: string; detail?: Record<string, unknown> } }

type ProblemResult = { title: string; code: string; detail?: string; status?: number }

/** Whether it is applied by now; throws what the platform refused while it applied it. */
export function isApplied({ data: { state, detail } }: AcceptedWrite): boolean {
  const result = detail?.result
  const problem = (Array.isArray(result) ? result : [result]).find(isProblemResult)
  if (problem !== undefined) throw new Failure(problem)
  return state !== 'queued'
}

function isProblemResult(result: unknown): result is ProblemResult {
  return typeof result === 'object' && result !== null && 'code' in result && 'title' in result
}

/** Waits for a write of the inventory, tells what came of it, and lets everything about the inventory be read again. */
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
