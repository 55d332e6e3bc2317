import {
  type KeyboardEvent,
  memo,
  type RefObject,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'
import { columnWidths, measureContents } from './column-widths.ts'
import {
  cellClass,
  checkWidth,
  type GridColumn,
  type GridProps,
  type GridSelection,
  gridTracks,
  pinnedLeft,
  pinnedStyle,
} from './grid-column.ts'
import { GridHeader } from './grid-header.tsx'
import {
  contentHeight,
  type Extent,
  positionAfterScroll,
  positionFor,
  rowsAt,
  startPosition,
  topOf,
} from './scroll-window.ts'

/** The height of a row, and the height of a row whose cells have two lines. */
const [plainRowHeight, roomyRowHeight] = [36, 50]
const headHeight = 37
/**
 * The number of additional rows that are rendered above and below the visible rows, so that fast scrolling shows no
 * gaps.
 */
const overscanRows = 4

/**
 * `Grid` is a table for lists of any length. It renders only the visible rows. Arrow keys move between rows, Enter
 * opens a row, and Space selects it. A table that is wider than the page scrolls horizontally.
 */
export function Grid<Row>(props: GridProps<Row>) {
  const {
    label,
    columns: declared,
    count,
    rowAt,
    idOf,
    onRange,
    onOpen,
    onDrag,
    onCurrent,
    focus,
    selection,
    isTall,
    isRoomy = false,
  } = props
  const rowHeight = isRoomy ? roomyRowHeight : plainRowHeight
  const scroller = useRef<HTMLDivElement>(null)
  const body = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [viewportHeight, setViewportHeight] = useState(600)
  const [viewportWidth, setViewportWidth] = useState(0)
  const [position, setPosition] = useState(startPosition)
  const [current, setCurrent] = useState(0)
  const extent = { count, rowHeight, viewportHeight }
  const { first, last } = rowsAt(extent, position, overscanRows)

  useLayoutEffect(() => {
    const watched = scroller.current
    if (watched === null) return
    const observer = new ResizeObserver(() => {
      setViewportHeight(Math.max(plainRowHeight, watched.clientHeight - headHeight))
      setViewportWidth(watched.clientWidth)
      watched.style.setProperty('--grid-bar', `${watched.offsetHeight - watched.clientHeight}px`)
    })
    observer.observe(watched)
    return () => observer.disconnect()
  }, [])
  // The last known scroll position. It is stored, because reading `scrollTop` from the element would force a layout.
  const lastScrollTop = useRef(0)
  useLayoutEffect(() => {
    if (scroller.current === null || lastScrollTop.current === position.scrollTop) return
    lastScrollTop.current = position.scrollTop
    scroller.current.scrollTop = position.scrollTop
  }, [position])
  useEffect(() => {
    if (count > 0) onRange?.(first, last)
  }, [first, last, count, onRange])

  const latest = useRef(props)
  latest.current = props
  // The callbacks never change, so that unchanged rows are not rendered again.
  const [{ toggleRow, openRow, dragRow, enterRow }] = useState(() => ({
    toggleRow: (index: number, isRange: boolean) => latest.current.selection?.onToggle(index, isRange),
    openRow: (row: unknown) => latest.current.onOpen?.(row as Row),
    dragRow: (row: unknown) => latest.current.onDrag?.(row as Row),
    enterRow: (index: number) => {
      setCurrent(index)
      latest.current.onCurrent?.(index)
    },
  }))
  const focusOn = (index: number) => {
    setCurrent(index)
    setPosition(positionFor(extent, position, index))
    requestAnimationFrame(() => body.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus())
  }
  const moveFocus = useEffectEvent((index: number) => focusOn(Math.min(index, count - 1)))
  useEffect(() => {
    if (focus !== undefined) moveFocus(focus.index)
  }, [focus])
  const onKey = (event: KeyboardEvent) => {
    const moved = nextIndex(event.key, current, extent)
    const row = rowAt(current)
    const isOnRow = (event.target as HTMLElement).role === 'row'
    if (moved !== undefined) focusOn(moved)
    else if (event.key === 'Enter' && isOnRow && row !== undefined) onOpen?.(row)
    else if (event.key === ' ' && isOnRow && selection !== undefined) selection.onToggle(current, event.shiftKey)
    else return
    event.preventDefault()
  }
  const indexes = Array.from({ length: count === 0 ? 0 : last - first + 1 }, (_, index) => first + index)
  const contents = useContentWidths(content, {
    columns: declared,
    loadedRows: indexes.filter((index) => rowAt(index) !== undefined).length,
  })
  const isSelectable = selection !== undefined
  const { columns, widths } = useMemo(() => {
    if (contents === undefined || viewportWidth === 0) return { columns: declared, widths: undefined }
    const available = viewportWidth - (isSelectable ? checkWidth : 0)
    const sized = columnWidths(declared, contents, available)
    return {
      columns: declared.map((column, place) => ({ ...column, width: sized[place] ?? column.width })),
      widths: sized,
    }
  }, [declared, contents, viewportWidth, isSelectable])
  const { tracks, minimum } = gridTracks(columns, isSelectable, widths)
  return (
    <div
      className={isTall ? 'grid grid-tall' : 'grid'}
      ref={scroller}
      style={
        {
          '--grid-rows': `${headHeight + contentHeight(extent)}px`,
          '--grid-row-height': `${rowHeight}px`,
        } as React.CSSProperties
      }
      onScroll={({ currentTarget }) => {
        const { scrollTop, scrollLeft } = currentTarget
        const isAside = String(scrollLeft > 0)
        if (currentTarget.dataset.aside !== isAside) currentTarget.dataset.aside = isAside
        lastScrollTop.current = scrollTop
        if (scrollTop !== position.scrollTop) setPosition(positionAfterScroll(extent, position, scrollTop))
      }}
    >
      <div
        className="grid-content"
        ref={content}
        role="grid"
        aria-label={label}
        aria-rowcount={count + 1}
        aria-colcount={declared.length + (selection ? 1 : 0)}
        aria-multiselectable={selection !== undefined}
        style={{ '--grid-columns': tracks, width: `max(100%, ${minimum}px)` } as React.CSSProperties}
      >
        <GridHeader {...props} columns={columns} />
        <div
          role="rowgroup"
          className="grid-body"
          ref={body}
          style={{ height: contentHeight(extent) }}
          onKeyDown={onKey}
        >
          {indexes.map((index) => {
            const row = rowAt(index)
            return (
              <GridRow
                key={index}
                index={index}
                top={topOf(extent, position, index)}
                row={row}
                columns={columns as readonly GridColumn<unknown>[]}
                isCurrent={index === Math.min(current, count - 1)}
                isSelected={row !== undefined && selection?.isSelected(idOf(row))}
                onToggle={selection && toggleRow}
                onOpen={onOpen && openRow}
                onDrag={onDrag && dragRow}
                isMarked={onCurrent !== undefined}
                onFocus={enterRow}
              />
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** The delay before the contents of changed rows are measured, so that scrolling stays smooth. */
const measureDelayMs = 200

type ContentOptions = { columns: readonly { id: string; header: string }[]; loadedRows: number }

/**
 * Returns the widths that the contents of the columns need, or undefined until rows are loaded. The first loaded rows are measured
 * at once, and changed rows shortly after the change. Widths only increase, so that columns do not move back and forth.
 */
function useContentWidths(content: RefObject<HTMLDivElement | null>, { columns, loadedRows }: ContentOptions) {
  const key = columns.map(({ id, header }) => `${id} ${header}`).join('\n')
  const [measured, setMeasured] = useState<{ key: string; widths: readonly number[] }>()
  const isMeasured = measured?.key === key
  // Each change of the rows is measured, because cells can show data that is loaded after the row.
  useLayoutEffect(() => {
    const count = columns.length
    const measure = () => {
      if (content.current === null) return
      const { widths, rows } = measureContents(content.current, count)
      if (rows === 0) return
      setMeasured((before) => {
        if (before?.key !== key) return { key, widths }
        const larger = widths.map((width, place) => Math.max(width, before.widths[place] ?? 0))
        return larger.every((width, place) => width === before.widths[place]) ? before : { key, widths: larger }
      })
    }
    if (loadedRows === 0) return
    if (!isMeasured) return measure()
    const timer = setTimeout(measure, measureDelayMs)
    return () => clearTimeout(timer)
  })
  return isMeasured ? measured.widths : undefined
}

type GridRowProps = {
  index: number
  top: number
  row: unknown
  columns: readonly GridColumn<unknown>[]
  isCurrent: boolean
  isSelected: boolean | undefined
  /** Whether the current row is marked, also without the focus. */
  isMarked: boolean
  onToggle: GridSelection['onToggle'] | undefined
  onOpen: ((row: unknown) => void) | undefined
  onDrag: ((row: unknown) => void) | undefined
  onFocus: (index: number) => void
}

/** `GridRow` is memoized, because most rows do not change while the user scrolls. */
const GridRow = memo(function GridRow({ index, top: y, row, columns, ...props }: GridRowProps) {
  const { isCurrent, isMarked, isSelected, onToggle, onOpen, onDrag, onFocus } = props
  const text = useText(componentMessages)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the row group handles keys
    <div
      role="row"
      className="grid-row"
      aria-rowindex={index + 2}
      aria-selected={onToggle === undefined ? undefined : isSelected === true}
      data-index={index}
      data-openable={onOpen !== undefined}
      aria-current={isMarked && isCurrent ? true : undefined}
      tabIndex={isCurrent ? 0 : -1}
      style={{ transform: `translateY(${y}px)` }}
      onFocus={() => onFocus(index)}
      draggable={onDrag !== undefined && row !== undefined}
      onDragStart={() => onDrag?.(row)}
      onClick={(event) => {
        if (row === undefined || onOpen === undefined || !isRowClick(event)) return
        event.preventDefault()
        onOpen(row)
      }}
    >
      {onToggle !== undefined && (
        <div role="gridcell" className="grid-cell grid-check grid-pinned" style={pinnedStyle(0)}>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`${text.selectRow} ${index + 1}`}
            checked={isSelected === true}
            disabled={row === undefined}
            onChange={({ nativeEvent }) => onToggle(index, (nativeEvent as MouseEvent).shiftKey)}
          />
        </div>
      )}
      {columns.map((column, place) => {
        const shown = row === undefined ? <span className="grid-coming" aria-hidden="true" /> : column.cell(row)
        return (
          <div
            key={column.id}
            role="gridcell"
            className={cellClass(columns, place)}
            data-number={column.isNumber}
            title={typeof shown === 'string' && shown !== '' ? shown : undefined}
            style={column.isPinned ? pinnedStyle(pinnedLeft(columns, place, onToggle !== undefined)) : undefined}
          >
            {shown}
          </div>
        )
      })}
    </div>
  )
})

/**
 * Returns true for a click on the row or on the link that opens the row. Returns false for a click on another control,
 * and for a click that opens a new window.
 */
function isRowClick({ target, ctrlKey, metaKey, shiftKey, button }: React.MouseEvent): boolean {
  const control = (target as HTMLElement).closest<HTMLElement>(
    'a, button, ix-button, ix-icon-button, input, select, label',
  )
  if (control === null) return true
  return control.dataset.opensRow !== undefined && button === 0 && !ctrlKey && !metaKey && !shiftKey
}

function nextIndex(key: string, from: number, extent: Extent): number | undefined {
  const end = extent.count - 1
  const page = Math.max(1, Math.floor(extent.viewportHeight / extent.rowHeight) - 1)
  const moves: Record<string, number> = {
    ArrowDown: from + 1,
    ArrowUp: from - 1,
    PageDown: from + page,
    PageUp: from - page,
    Home: 0,
    End: end,
  }
  const moved = moves[key]
  return moved === undefined ? undefined : Math.min(Math.max(moved, 0), Math.max(0, end))
}
