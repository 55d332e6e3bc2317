import type { Caller } from '../../platform/access/caller.ts'
import { hiddenAssets, idsIn, readsAllAssets } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'
import type { JobRow, PastRow } from './job.ts'
import { isGateway } from './job-access.ts'

/**
 * Redaction of jobs. A job of a readable gateway may name an asset that the caller cannot read, in its tags, definition or
 * result. The caller then gets the job without the definition, the result, the messages and the tags that name the asset.
 * The gateway itself gets its jobs unchanged.
 */

type Shown = Pick<JobRow, 'tags' | 'definition' | 'context' | 'message'>

export async function redacted<Row extends Shown>(
  context: Pick<Context, 'peers'>,
  caller: Caller,
  rows: readonly Row[],
): Promise<Row[]> {
  const named = await hiddenIn(context, caller, rows)
  return rows.map((row, index) => {
    const hidden = named[index] ?? []
    if (hidden.length === 0) return row
    return { ...row, tags: withoutNaming(row.tags, hidden), definition: {}, context: null, message: null }
  })
}

/** Redacts a job and its history in the same way. */
export async function redactedWithPast(
  context: Pick<Context, 'peers'>,
  caller: Caller,
  { row, past }: { row: JobRow; past: readonly PastRow[] },
): Promise<{ row: JobRow; past: readonly PastRow[] }> {
  const [hidden = []] = await hiddenIn(context, caller, [{ row, past }])
  if (hidden.length === 0) return { row, past }
  return {
    row: { ...row, tags: withoutNaming(row.tags, hidden), definition: {}, context: null, message: null },
    past: past.map(({ status, ...entry }) => {
      if (status === null) return { ...entry, status, definition: null }
      const { context: _, message: __, ...shown } = status
      return { ...entry, status: shown, definition: null }
    }),
  }
}

/** Returns whether a filter value names an asset that the caller cannot read. Such a filter matches nothing. */
export async function namesHidden(context: Pick<Context, 'peers'>, caller: Caller, value: unknown): Promise<boolean> {
  const [hidden = []] = await hiddenIn(context, caller, [value])
  return hidden.length > 0
}

/** Returns, for each value, the ids of the assets that the value names and that the caller cannot read. */
export async function hiddenIn(
  context: Pick<Context, 'peers'>,
  caller: Caller,
  values: readonly unknown[],
): Promise<string[][]> {
  if (isGateway(caller) || readsAllAssets(caller)) return values.map(() => [])
  const named = values.map((value) => idsIn(value))
  const hidden = await hiddenAssets(context, caller, named.flat())
  return named.map((ids) => ids.filter((id) => hidden.has(id)))
}

function withoutNaming(tags: readonly string[], hidden: readonly string[]): string[] {
  return tags.filter((tag) => !hidden.some((id) => tag.toLowerCase().includes(id)))
}
