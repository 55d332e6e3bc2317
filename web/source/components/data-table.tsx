import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react'
import { useText } from '../app/language-context.tsx'
import { componentMessages } from './messages.ts'

export type Column<Row> = {
  id: string
  header: string
  /** In pixels; the last column takes what is left. */
  width: number
  cell: (row: Row) => ReactNode
  /** Numbers stand at the right. */
  isNumber?: boolean
}

export type Selection = { selected: ReadonlySet<string>; onChange: (selected: ReadonlySet<string>) => void }

type Given<Row> = {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  idOf: (row: Row) => string
  /** Enter and a click on the row; the first column then looks like a link. */
  onOpen?: (row: Row) => void
  selection?: Selection
  /** Shown instead of rows. */
  empty?: ReactNode
  /** Called when the end comes into sight: the place to ask for the next page. */
  onEnd?: () => void
  /** Fills the height that the page leaves; otherwise as high as its rows, up to a limit. */
  isTall?: boolean
}

const rowHeight = 40
const checkWidth = 44

/**
 * A table for lists of any length: only the rows in sight are there. Arrow keys move between rows, Enter opens, the
 * space bar selects. The wide table scrolls within itself, so that the page never does sideways.
 */
export function DataTable<Row>(given: Given<Row>) {
  const { label, columns, rows, idOf, onOpen, selection, empty, onEnd, isTall } = given
  const scroller = useRef<HTMLDivElement>(null)
  const [current, setCurrent] = useState(0)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    onChange: ({ range }) => {
      if (range !== null && range.endIndex >= rows.length - 10) onEnd?.()
    },
  })
  const widths = columns.map((column, index) =>
    index === columns.length - 1 ? `minmax(${column.width}px, 1fr)` : `${column.width}px`,
  )
  const template = [...(selection === undefined ? [] : [`${checkWidth}px`]), ...widths].join(' ')
  const toggle = (id: string) => selection?.onChange(toggled(selection.selected, id))
  const onKey = (event: KeyboardEvent) => {
    const moved = movedTo(event.key, current, rows.length)
    const row = rows[current]
    if (moved !== undefined) {
      setCurrent(moved)
      virtual.scrollToIndex(moved)
      focusRow(scroller.current, moved)
    } else if (
      event.key === 'Enter' &&
      row !== undefined &&
      event.target === event.currentTarget.ownerDocument.activeElement
    ) {
      onOpen?.(row)
    } else if (event.key === ' ' && row !== undefined && selection !== undefined) {
      toggle(idOf(row))
    } else return
    event.preventDefault()
  }
  if (rows.length === 0 && empty !== undefined) return empty
  return (
    <div className={isTall ? 'table table-tall' : 'table'} ref={scroller}>
      <div
        className="table-grid"
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-multiselectable={selection !== undefined}
      >
        <HeadRow columns={columns} template={template} rows={rows} idOf={idOf} selection={selection} />
        <div role="rowgroup" className="table-body" style={{ height: virtual.getTotalSize() }} onKeyDown={onKey}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index]
            if (row === undefined) return null
            return (
              <BodyRow
                key={idOf(row)}
                row={row}
                index={index}
                top={start}
                given={given}
                template={template}
                isCurrent={index === current}
                onFocus={() => setCurrent(index)}
                onToggle={() => toggle(idOf(row))}
              />
            )
          })}
        </div>
      </div>
    </div>
  )
}

type HeadGiven<Row> = Pick<Given<Row>, 'columns' | 'rows' | 'idOf'> & {
  template: string
  selection: Selection | undefined
}

function HeadRow<Row>({ columns, template, rows, idOf, selection }: HeadGiven<Row>) {
  const text = useText(componentMessages)
  const isAll = rows.length > 0 && rows.every((row) => selection?.selected.has(idOf(row)))
  return (
    <div role="rowgroup" className="table-head">
      <div role="row" className="table-row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
        {selection !== undefined && (
          <div role="columnheader" className="table-cell table-check">
            <input
              type="checkbox"
              aria-label={text.selectAll}
              checked={isAll}
              onChange={() => selection.onChange(new Set(isAll ? [] : rows.map(idOf)))}
            />
          </div>
        )}
        {columns.map(({ id, header, isNumber }) => (
          <div key={id} role="columnheader" className="table-cell" data-number={isNumber}>
            {header}
          </div>
        ))}
      </div>
    </div>
  )
}

type RowGiven<Row> = {
  row: Row
  index: number
  top: number
  given: Given<Row>
  template: string
  isCurrent: boolean
  onFocus: () => void
  onToggle: () => void
}

function BodyRow<Row>({ row, index, top, given, template, isCurrent, onFocus, onToggle }: RowGiven<Row>) {
  const text = useText(componentMessages)
  const { columns, idOf, onOpen, selection } = given
  const id = idOf(row)
  const isSelected = selection?.selected.has(id)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the group of rows
    <div
      role="row"
      className="table-row"
      aria-rowindex={index + 2}
      aria-selected={selection === undefined ? undefined : isSelected}
      data-index={index}
      data-openable={onOpen !== undefined}
      tabIndex={isCurrent ? 0 : -1}
      style={{ gridTemplateColumns: template, transform: `translateY(${top}px)` }}
      onFocus={onFocus}
      onClick={onOpen === undefined ? undefined : () => onOpen(row)}
    >
      {selection !== undefined && (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the box in it is what is used
        <div role="gridcell" className="table-cell table-check" onClick={(event) => event.stopPropagation()}>
          <input type="checkbox" tabIndex={-1} aria-label={text.selectRow} checked={isSelected} onChange={onToggle} />
        </div>
      )}
      {columns.map((column) => (
        <div key={column.id} role="gridcell" className="table-cell" data-number={column.isNumber}>
          {column.cell(row)}
        </div>
      ))}
    </div>
  )
}

function toggled(selected: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(selected)
  if (!next.delete(id)) next.add(id)
  return next
}

const pageRows = 12

function movedTo(key: string, from: number, count: number): number | undefined {
  const last = Math.max(0, count - 1)
  const moves: Record<string, number> = {
    ArrowDown: from + 1,
    ArrowUp: from - 1,
    PageDown: from + pageRows,
    PageUp: from - pageRows,
    Home: 0,
    End: last,
  }
  const moved = moves[key]
  return moved === undefined ? undefined : Math.min(Math.max(moved, 0), last)
}

/** The row is there only after the table has scrolled to it. */
function focusRow(scroller: HTMLElement | null, index: number): void {
  requestAnimationFrame(() => scroller?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus())
}
