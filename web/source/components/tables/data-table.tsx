import { type ReactNode, useCallback } from 'react'
import { Grid } from './grid.tsx'
import type { GridColumn, Sorting } from './grid-column.ts'

export type Column<Row> = GridColumn<Row>

export type Selection = { selected: ReadonlySet<string>; onChange: (selected: ReadonlySet<string>) => void }

type DataTableProps<Row> = {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  idOf: (row: Row) => string
  /** Opens a row. The table calls this function on Enter, and on a click on the row. */
  onOpen?: (row: Row) => void
  selection?: Selection
  /** The order of the rows, if it is the order of a column. The header of this column shows it. */
  sorting?: Sorting
  /** The content that is shown when there are no rows. */
  empty?: ReactNode
  /** Loads the next page. The table calls this function when the user scrolls near the end. */
  onEnd?: () => void
  /** Receives the range of the visible rows, so that further data of these rows can be loaded. */
  onRange?: (first: number, last: number) => void
  /**
   * Whether the table fills the remaining height of the page. Otherwise its height depends on the number of rows, up to
   * a limit.
   */
  isTall?: boolean
  /** Whether the rows are higher, for cells with two lines. */
  isRoomy?: boolean
}

const closeToEnd = 10

/**
 * `DataTable` shows rows. Either all rows are already loaded, or further rows are loaded page by page while the user
 * scrolls.
 */
export function DataTable<Row>({ rows, selection, empty, onEnd, onRange, idOf, ...props }: DataTableProps<Row>) {
  const onVisible = useCallback(
    (first: number, last: number) => {
      if (last >= rows.length - closeToEnd) onEnd?.()
      onRange?.(first, last)
    },
    [rows.length, onEnd, onRange],
  )
  if (rows.length === 0 && empty !== undefined) return empty
  const isAllSelected = rows.length > 0 && rows.every((row) => selection?.selected.has(idOf(row)))
  return (
    <Grid
      {...props}
      count={rows.length}
      rowAt={(index) => rows[index]}
      idOf={idOf}
      onRange={onVisible}
      selection={
        selection && {
          isSelected: (id) => selection.selected.has(id),
          onToggle: (index) => {
            const row = rows[index]
            if (row !== undefined) selection.onChange(toggled(selection.selected, idOf(row)))
          },
          isAll: isAllSelected,
          isPartial: selection.selected.size > 0 && !isAllSelected,
          onAll: () => selection.onChange(new Set(isAllSelected ? [] : rows.map(idOf))),
        }
      }
    />
  )
}

function toggled(selected: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(selected)
  if (!next.delete(id)) next.add(id)
  return next
}
