import type { ImportRow } from './import-store.ts'

/** The share of each phase in the progress of an import, in percent. */
const readingShare = 20
const writingShare = 70

/** Returns the progress of an import in percent. The number of rows is known when the file is read. */
export function progressOf(
  row: Pick<ImportRow, 'state' | 'phase' | 'rows' | 'created' | 'updated' | 'unchanged' | 'failed' | 'nextRow'>,
): number {
  if (row.state === 'finished') return 100
  if (row.phase === 'reading') return row.rows === 0 ? 0 : Math.min(readingShare - 1, Math.floor(row.rows / 1_000))
  const done = (row.created + row.updated + row.unchanged + row.failed) / Math.max(1, row.rows)
  if (row.phase === 'writing') return readingShare + Math.floor(writingShare * Math.min(1, done))
  const placed = row.nextRow / Math.max(row.nextRow, row.rows + 1)
  return readingShare + writingShare + Math.floor((99 - readingShare - writingShare) * placed)
}
