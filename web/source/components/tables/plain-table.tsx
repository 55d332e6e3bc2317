import type { ReactNode } from 'react'

/** A column header. The header of a column with buttons is only read by screen readers. */
export type PlainColumn = string | { unseen: string }

type PlainTableProps = {
  columns: readonly PlainColumn[]
  /** The rows, as `tr` elements. */
  children: ReactNode
  className?: string
  /** Whether the table is too wide for narrow screens. Users without a mouse then scroll it with the keyboard. */
  isWide?: boolean
}

/** `PlainTable` is a table with few rows, such as the parts of a card or dialog. Lists use `DataTable`. */
export function PlainTable({ columns, children, className, isWide }: PlainTableProps) {
  return (
    <table
      className={className === undefined ? 'plain-table' : `plain-table ${className}`}
      tabIndex={isWide ? 0 : undefined}
    >
      <thead>
        <tr>
          {columns.map((column) =>
            typeof column === 'string' ? (
              <th key={column} scope="col">
                {column}
              </th>
            ) : (
              <th key={column.unseen} scope="col">
                <span className="unseen">{column.unseen}</span>
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}
