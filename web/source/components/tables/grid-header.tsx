import { iconSortAscending, iconSortDescending } from '@siemens/ix-icons/icons'
import { type KeyboardEvent, memo, type PointerEvent } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { useRovingFocus } from '../actions/roving-focus.ts'
import { componentMessages } from '../messages.ts'
import { Icon } from '../values/icon.tsx'
import { useColumnDrag } from './column-drag.ts'
import { cellClass, type GridColumn, type GridProps, pinnedLeft, pinnedStyle, type Sorting } from './grid-column.ts'

const minimumWidth = 60
const maximumWidth = 900
const keyStep = 16
/** The controls of the header: the checkbox, the buttons that sort, and headers of columns that cannot be sorted. */
const headerControls = 'input, .grid-sort, [data-focusable="true"]'

/**
 * `Header` shows the column headers. The user clicks a header to sort, drags it to move the column, and drags the
 * handle to resize the column. The header is one tab stop: the arrow keys move between the columns, and the arrow down
 * moves to the rows.
 */
function Header<Row>({ columns, selection, sorting, onSort, onResize, onMove, onPin }: GridProps<Row>) {
  const text = useText(componentMessages)
  const moves = useColumnDrag({ ids: columns.map(({ id }) => id), onMove, onPin })
  const roving = useRovingFocus<HTMLDivElement>(headerControls)
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    roving.onKeyDown(event)
    if (event.key !== 'ArrowDown' || event.defaultPrevented) return
    const row = event.currentTarget.closest('.grid-content')?.querySelector<HTMLElement>('.grid-body [tabindex="0"]')
    event.preventDefault()
    row?.focus()
  }
  return (
    <div role="rowgroup" className="grid-head" ref={roving.ref} onFocus={roving.onFocus} onKeyDown={onKeyDown}>
      <div role="row" className="grid-row" aria-rowindex={1}>
        {selection !== undefined && (
          <div role="columnheader" className="grid-cell grid-check grid-pinned" style={pinnedStyle(0)}>
            <input
              type="checkbox"
              aria-label={text.selectAll}
              checked={selection.isAll}
              ref={(box) => {
                if (box !== null) box.indeterminate = selection.isPartial
              }}
              onChange={() => selection.onAll()}
            />
          </div>
        )}
        {columns.map((column, place) => (
          <div
            key={column.id}
            role="columnheader"
            className={cellClass(columns, place)}
            data-number={column.isNumber}
            // Without this label, the accessible name of the column would include the name of the resize handle.
            aria-label={onResize === undefined ? undefined : column.header}
            data-column={column.id}
            data-drop={moves.drop?.id === column.id ? moves.drop.side : undefined}
            data-movable={onMove !== undefined}
            aria-sort={sortState(column, sorting)}
            {...(onMove !== undefined && {
              title: text.moveHint,
              'aria-keyshortcuts': 'Shift+ArrowLeft Shift+ArrowRight P Plus -',
              ...(!(column.isSortable && onSort) && { tabIndex: -1, 'data-focusable': true }),
            })}
            onPointerDown={(event) => moves.onPointerDown(column.id, event)}
            onClickCapture={moves.onClickCapture}
            onKeyDown={(event) => {
              moves.onKeyDown(column.id, event)
              const step = { '+': keyStep, '-': -keyStep }[event.key]
              if (step !== undefined) onResize?.(column.id, limited(column.width + step))
            }}
            style={column.isPinned ? pinnedStyle(pinnedLeft(columns, place, selection !== undefined)) : undefined}
          >
            <HeaderLabel column={column} sorting={sorting} onSort={onSort} />
            {onResize !== undefined && <ResizeHandle column={column} onResize={onResize} />}
          </div>
        ))}
      </div>
    </div>
  )
}

/** `GridHeader` is memoized, because scrolling does not change it. */
export const GridHeader = memo(Header) as typeof Header

function sortState({ id, isSortable }: { id: string; isSortable?: boolean }, sorting: Sorting | undefined) {
  if (sorting?.id === id) return sorting.isDescending ? 'descending' : 'ascending'
  return isSortable ? 'none' : undefined
}

function sortIcon({ isDescending }: Sorting): string {
  return isDescending ? iconSortDescending : iconSortAscending
}

type HeaderLabelProps = {
  column: Pick<GridColumn<never>, 'id' | 'header' | 'hint' | 'isSortable'>
  sorting: Sorting | undefined
  onSort: ((id: string) => void) | undefined
}

function HeaderLabel({ column: { id, header, hint, isSortable }, sorting, onSort }: HeaderLabelProps) {
  if (!isSortable || onSort === undefined)
    return (
      <>
        <span className="grid-label" title={hint}>
          {header}
        </span>
        {sorting?.id === id && <Icon name={sortIcon(sorting)} size={16} />}
      </>
    )
  return (
    <button type="button" className="grid-sort" onClick={() => onSort(id)}>
      <span className="grid-label">{header}</span>
      {sorting?.id === id && <Icon name={sortIcon(sorting)} size={16} />}
    </button>
  )
}

function limited(width: number): number {
  return Math.round(Math.min(maximumWidth, Math.max(minimumWidth, width)))
}

type ResizeHandleProps = {
  column: { id: string; header: string; width: number }
  onResize: (id: string, width: number) => void
}

function ResizeHandle({ column: { id, header, width }, onResize }: ResizeHandleProps) {
  const text = useText(componentMessages)
  const resize = (target: number) => onResize(id, limited(target))
  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    const edge = event.currentTarget
    const from = event.clientX
    edge.setPointerCapture(event.pointerId)
    const move = ({ clientX }: { clientX: number }) => resize(width + clientX - from)
    edge.addEventListener('pointermove', move)
    edge.addEventListener('lostpointercapture', () => edge.removeEventListener('pointermove', move), { once: true })
    event.preventDefault()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -keyStep, ArrowRight: keyStep }[event.key]
    if (step === undefined) return
    event.preventDefault()
    resize(width + step)
  }
  return (
    <span
      className="grid-edge"
      role="separator"
      aria-orientation="vertical"
      aria-label={text.resize(header)}
      aria-valuenow={width}
      aria-valuemin={minimumWidth}
      aria-valuemax={maximumWidth}
      tabIndex={-1}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  )
}
