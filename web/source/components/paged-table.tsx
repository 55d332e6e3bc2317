import type { Paged } from '../app/paged.ts'
import { type Column, DataTable, type Selection } from './data-table.tsx'
import { ProblemMessage } from './problem-message.tsx'
import { Waiting } from './waiting.tsx'

type Given<Row> = {
  label: string
  paged: Paged<Row>
  columns: readonly Column<Row>[]
  idOf: (row: Row) => string
  onOpen?: (row: Row) => void
  selection?: Selection
  empty: React.ReactNode
}

/** A list of the API as a table: waiting, empty, wrong, and as long as one scrolls. */
export function PagedTable<Row>({ paged, ...table }: Given<Row>) {
  if (paged.error !== null) return <ProblemMessage failure={paged.error} onRetry={paged.retry} />
  if (paged.isWaiting) return <Waiting />
  return <DataTable {...table} rows={paged.rows} onEnd={paged.next} isTall />
}
