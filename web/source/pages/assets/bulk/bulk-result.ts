import { inventoryLimits } from '../model/limits.ts'

/** `BulkOutcome` is the outcome of a bulk write. The write is split into requests that respect the limit of the API. */

/** The headers of a bulk write. The server waits up to 30 s until the write is applied. */
export const bulkHeaders = { prefer: 'wait=30' }

export type BulkOutcome = { done: number; failures: { id: string; detail: string }[] }

/** `AcceptedWrite` is the response to an accepted write. */
export type AcceptedWrite = { data: { detail?: Record<string, unknown> | undefined } }

type Write = (ids: string[]) => Promise<AcceptedWrite>
type BulkWriteOptions = { ids: readonly string[]; write: Write; onProgress: (done: number) => void }

export async function writeInBulk({ ids, write, onProgress }: BulkWriteOptions): Promise<BulkOutcome> {
  const outcome: BulkOutcome = { done: 0, failures: [] }
  for (let at = 0; at < ids.length; at += inventoryLimits.bulk) {
    const some = ids.slice(at, at + inventoryLimits.bulk)
    const failures = failuresIn(await write(some), some)
    outcome.failures.push(...failures)
    outcome.done += some.length - failures.length
    onProgress(Math.min(ids.length, at + some.length))
  }
  return outcome
}

/**
 * Returns the failures of a write. The results are in the order of the ids. The result of a rejected item is a problem
 * document.
 */
export function failuresIn({ data }: AcceptedWrite, ids: readonly string[]): BulkOutcome['failures'] {
  const results = data.detail?.result
  if (!Array.isArray(results)) return []
  return results.flatMap((result: unknown, at) => {
    const isProblem = typeof result === 'object' && result !== null && 'code' in result
    return isProblem ? [{ id: ids[at] ?? '', detail: 'detail' in result ? String(result.detail) : '' }] : []
  })
}
