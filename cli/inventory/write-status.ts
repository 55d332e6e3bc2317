import { inventory } from '@millwright/api/inventory.ts'
import type { Problem } from '@millwright/api/problem.ts'
import { problemFrom } from '@millwright/api/problem.ts'
import { CommandError, exitCodes, explained } from '../output/error-report.ts'
import type { Session } from '../session/session.ts'

/** Whoever types a command wants to know what became of it. */
export const waiting = { prefer: 'wait=30' }

type Accepted = { data: { statusId: string; state?: string; detail?: Record<string, unknown> } }

export type Result = { assetId?: string; outcome?: string; code?: string; status?: number; detail?: string }

/** Waits until an accepted write is applied and returns one result per item. Failed items are among them. */
export async function resultsOf({ api }: Session, { data }: Accepted): Promise<Result[]> {
  let { state } = data
  let result = data.detail?.result
  while (state !== 'finished' && state !== 'failed') {
    const status = await api(inventory).readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
    state = status.data.state
    result = status.data.detail.result
  }
  const results = [result].flat() as Result[]
  if (state === 'failed' && !results.some(isRefusal)) throw new CommandError('The platform could not apply the write.')
  return results
}

/** Like `resultsOf`, but throws the problem of a write with one item. */
export async function outcomeOf(session: Session, accepted: Accepted): Promise<Result[]> {
  const results = await resultsOf(session, accepted)
  const [only] = results
  if (results.length === 1 && only !== undefined && isRefusal(only)) throw refusalOf(only)
  return results
}

export function isRefusal(result: Result): boolean {
  return result?.code !== undefined && result.status !== undefined
}

export function refusalOf(result: Result): Problem {
  return problemFrom(result, result.status ?? 500)
}

/** Tells which of many failed, and ends with a code that says so. */
export function requireAll({ terminal }: Session, results: readonly Result[], names: readonly string[]): void {
  const refused = results.flatMap((result, index) => (isRefusal(result) ? [{ result, name: names[index] ?? '' }] : []))
  if (refused.length === 0) return
  for (const { result, name } of refused) terminal.tell(`${name}: ${explained(refusalOf(result))}`)
  throw new CommandError(`${refused.length} of ${results.length} failed.`, { exitCode: exitCodes.failed })
}
