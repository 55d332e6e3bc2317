import type { Paged } from '../../app/api/paged-list.ts'
import { Waiting } from '../feedback/loading.tsx'
import { ProblemMessage } from '../feedback/problem-message.tsx'
import { type Column, DataTable, type Selection } from './data-table.tsx'

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
