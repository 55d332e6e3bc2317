import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Problem } from '@millwright/api/problem.ts'
import { problemFrom } from '@millwright/api/problem.ts'
import { CommandError, errorText, exitCodes } from '../output/error-report.ts'
import type { Session } from '../session/session.ts'

/** Headers that make the platform wait until a write is applied, so that the command can print the result. */
export const waitHeaders = { prefer: 'wait=30' }

type Accepted = { data: { statusId: string; state?: string; detail?: Record<string, unknown> } }

export type Result = { assetId?: string; outcome?: string; code?: string; status?: number; detail?: string }

/** Waits until an accepted write is applied, and returns one result per item, including the failed items. */
export async function resultsOf({ api }: Session, { data }: Accepted): Promise<Result[]> {
  let { state } = data
  let result = data.detail?.result
  while (state !== 'finished' && state !== 'failed') {
    const status = await api(inventory).readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
    state = status.data.state
    result = status.data.detail.result
  }
  const results = [result].flat() as Result[]
  if (state === 'failed' && !results.some(isFailure)) throw new CommandError('The platform could not apply the write.')
  return results
}

/** Works like `resultsOf`. If the write has only one item and that item failed, throws its problem. */
export async function resultsOrThrow(session: Session, accepted: Accepted): Promise<Result[]> {
  const results = await resultsOf(session, accepted)
  const [only] = results
  if (results.length === 1 && only !== undefined && isFailure(only)) throw problemOfResult(only)
  return results
}

export function isFailure(result: Result): boolean {
  return result?.code !== undefined && result.status !== undefined
}

export function problemOfResult(result: Result): Problem {
  return problemFrom(result, result.status ?? 500)
}

/**
 * Prints the failed items and throws, so that the exit code shows the failure. Returns normally if all items succeeded.
 */
export function throwOnFailure({ terminal }: Session, results: readonly Result[], names: readonly string[]): void {
  const failed = results.flatMap((result, index) => (isFailure(result) ? [{ result, name: names[index] ?? '' }] : []))
  if (failed.length === 0) return
  for (const { result, name } of failed) terminal.note(`${name}: ${errorText(problemOfResult(result))}`)
  throw new CommandError(`${failed.length} of ${results.length} failed.`, { exitCode: exitCodes.failed })
}
