import { useQueryClient } from '@tanstack/react-query'
import { toldDone } from '../../components/feedback/toast.ts'
import { useText } from '../language/language-context.tsx'
import { appMessages } from '../shell/messages.ts'
import { Failure } from './failure.ts'
import { keyOf } from './queries.ts'

/** Most writes are applied within a moment; a longer queue goes on by itself. */
export const waitHeaders = { prefer: 'wait=20' }

/** An accepted write that was waited for. */
type Accepted = { data: { state?: string; detail?: Record<string, unknown> } }

type Refusal = { title: string; code: string; detail?: string; status?: number }

/** Whether it is applied by now; throws what the platform refused while it applied it. */
export function isApplied({ data: { state, detail } }: Accepted): boolean {
  const result = detail?.result
  const refused = (Array.isArray(result) ? result : [result]).find(isRefusal)
  if (refused !== undefined) throw new Failure(refused)
  return state !== 'queued'
}

function isRefusal(result: unknown): result is Refusal {
  return typeof result === 'object' && result !== null && 'code' in result && 'title' in result
}

/** Waits for a write of the inventory, tells what came of it, and lets everything about the inventory be read again. */
export function useInventoryWrite() {
  const text = useText(appMessages)
  const queryClient = useQueryClient()
  return async (writing: Promise<Accepted | object>, done: string): Promise<void> => {
    const answer = await writing
    const isDone = !('data' in answer) || Array.isArray(answer.data) || isApplied(answer as Accepted)
    toldDone(isDone ? done : text.queued)
    await queryClient.invalidateQueries({ queryKey: keyOf('inventory') })
  }
}
