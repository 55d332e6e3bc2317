import type { PagedList } from '../../app/api/paged-list.ts'
import { Loading } from '../feedback/loading.tsx'
import { ProblemMessage } from '../feedback/problem-message.tsx'
import { type Column, DataTable, type Selection } from './data-table.tsx'
import type { Sorting } from './grid-column.ts'

type PagedTableProps<Row> = {
  label: string
  pagedList: PagedList<Row>
  columns: readonly Column<Row>[]
  idOf: (row: Row) => string
  onOpen?: (row: Row) => void
  selection?: Selection
  sorting?: Sorting
  empty: React.ReactNode
  /** Whether the rows are higher, for cells with two lines. */
  isRoomy?: boolean
  /** Whether the table fills the remaining height of the page. */
  isTall?: boolean
}

/** `PagedTable` shows a paged list of the API with its loading, empty and error states. */
export function PagedTable<Row>({ pagedList, isTall = true, ...table }: PagedTableProps<Row>) {
  if (pagedList.error !== null) return <ProblemMessage failure={pagedList.error} onRetry={pagedList.retry} />
  if (pagedList.isLoading) return <Loading />
  return <DataTable {...table} rows={pagedList.rows} onEnd={pagedList.next} isTall={isTall} />
}
