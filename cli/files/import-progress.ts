import { setTimeout as delay } from 'node:timers/promises'
import { type Import, type ImportRow, imports, type RowOutcome, rowOutcomes } from '@millwright/api/imports.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { formatCount, sanitize } from '../output/text.ts'
import type { Session } from '../session/session.ts'

/** This file follows imports and prints their results. */

const pollMs = 250
/** The number of failed rows that are printed at the end. */
const shownErrors = 10

const unfinished: readonly Import['state'][] = ['queued', 'running', 'canceling']

/** What an import does with rows, and what a dry run would do. */
const labels: Readonly<Record<RowOutcome, { done: string; planned: string }>> = {
  created: { done: 'created', planned: 'to create' },
  updated: { done: 'updated', planned: 'to update' },
  unchanged: { done: 'unchanged', planned: 'unchanged' },
  failed: { done: 'failed', planned: 'with errors' },
}

/** Returns the numbers of rows by outcome, such as `2 created, 1 failed`. */
export function countsText(run: Import): string {
  const parts = rowOutcomes.filter((outcome) => run[outcome] > 0)
  const label = (outcome: RowOutcome) => labels[outcome][run.dryRun ? 'planned' : 'done']
  return parts.map((outcome) => `${run[outcome]} ${label(outcome)}`).join(', ') || 'No rows'
}

/** Waits for the end of an import, shows its progress and prints its result. Ctrl-C cancels the import. */
export async function followImport(session: Session, importId: string): Promise<void> {
  const interruption = new AbortController()
  const release = session.terminal.onInterrupt(() => interruption.abort())
  try {
    await printEnd(session, await untilEnd(session, importId, interruption.signal))
  } catch (error) {
    if (!interruption.signal.aborted) throw error
    await session
      .api(imports)
      .cancelImport({ params: { importId } })
      .catch(() => {})
    throw new CommandError(`Import ${importId} is canceled; rows that were already written remain.`, {
      exitCode: exitCodes.interrupted,
    })
  } finally {
    release()
  }
}

async function untilEnd(session: Session, importId: string, signal: AbortSignal): Promise<Import> {
  for (;;) {
    const { data } = await session.api(imports).readImport({ params: { importId } })
    if (!unfinished.includes(data.state)) return data
    session.terminal.progress(progressLine(data))
    await delay(pollMs, undefined, { signal })
  }
}

function progressLine(run: Import): string {
  if (run.state === 'queued') return 'Waiting for other imports'
  const { created, updated, unchanged, failed } = run
  const isReading = created + updated + unchanged + failed === 0
  return `${run.progress} %: ${isReading ? `${formatCount(run.rows, 'row')} read` : countsText(run)}`
}

/** Prints an import that has ended. Throws unless all rows succeeded, so that the exit code shows the failure. */
async function printEnd(session: Session, run: Import): Promise<void> {
  const { id, state, failed, rows, problem, dryRun } = run
  if (state === 'finished')
    await session.output.done(`${countsText(run)}${dryRun ? ' (dry run: nothing was changed)' : ''}`, { data: run })
  const ignored = run.columns.filter(({ to }) => to === null).map(({ from }) => sanitize(from))
  if (session.output.isText && ignored.length > 0)
    session.terminal.note(`Columns without a field, which were ignored: ${ignored.join(', ')}`)
  if (state === 'failed') throw new CommandError(`The import failed: ${problem?.detail}.`, nextOfTable(run))
  if (state === 'canceled') throw new CommandError(`Import ${id} was canceled: ${countsText(run)}.`)
  if (failed > 0) {
    await printErrors(session, run)
    printRunHint(session, run)
    throw new CommandError(`${failed} of ${formatCount(rows, 'row')} ${dryRun ? 'have errors' : 'failed'}.`, {
      next: `save the file with the reasons: millwright imports report ${id}`,
    })
  }
  printRunHint(session, run)
}

/** Prints the command that runs the import of a dry run, if it would change something. */
function printRunHint({ output, terminal }: Session, { id, dryRun, created, updated, failed }: Import): void {
  if (!dryRun || !output.isText || created + updated === 0) return
  terminal.note(`${failed > 0 ? 'To import the other rows' : 'To run it'}: millwright imports run ${id}`)
}

/** Returns the next step for a table that was read but has no column that identifies assets. */
function nextOfTable({ format, problem }: Import): { next?: string } {
  if (problem?.code !== 'unsupported_file' || (format !== 'csv' && format !== 'xlsx')) return {}
  return { next: 'see the suggested fields with millwright imports columns <file>, and use them with --save-mapping' }
}

async function printErrors(session: Session, { id: importId, failed }: Import): Promise<void> {
  if (!session.output.isText) return
  const query = { outcome: 'failed' as const, limit: shownErrors }
  const { data } = await session.api(imports).listRows({ params: { importId }, query })
  for (const row of data) session.terminal.note(`  Row ${row.row}: ${sanitize(errorsText(row))}`)
  if (failed > data.length) session.terminal.note(`  … and ${failed - data.length} more`)
}

/** Returns the errors of a row in one line. */
export function errorsText({ errors = [] }: Pick<ImportRow, 'errors'>): string {
  return errors.map(({ detail }) => detail).join('; ')
}
