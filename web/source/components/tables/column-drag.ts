import { type KeyboardEvent, type MouseEvent, type PointerEvent, useRef, useState } from 'react'

/** The minimum distance in pixels at which a pointer movement is a drag. A smaller movement counts as a click. */
const minimumDragPixels = 6

type ColumnDragOptions = {
  /** The column ids in display order. */
  ids: readonly string[]
  /** Moves a column to another position. If undefined, columns cannot be moved. */
  onMove: ((id: string, to: number) => void) | undefined
  /** Pins or unpins a column. */
  onPin: ((id: string) => void) | undefined
}

export type DropTarget = { id: string; side: 'before' | 'after' }

/** Moves columns when the user drags their headers, or presses Shift and an arrow key. The key P pins a column. */
export function useColumnDrag({ ids, onMove, onPin }: ColumnDragOptions) {
  const [drop, setDrop] = useState<DropTarget>()
  const wasDragged = useRef(false)
  const onPointerDown = (id: string, event: PointerEvent<HTMLElement>) => {
    wasDragged.current = false
    if (onMove === undefined || event.button !== 0 || event.pointerType === 'touch' || isResizeHandle(event)) return
    const head = event.currentTarget
    const { pointerId, clientX: from } = event
    let target: DropTarget | undefined
    const move = ({ clientX, clientY }: { clientX: number; clientY: number }) => {
      if (!wasDragged.current && Math.abs(clientX - from) < minimumDragPixels) return
      if (!wasDragged.current) head.setPointerCapture(pointerId)
      wasDragged.current = true
      target = dropAt(ids, id, { x: clientX, y: clientY })
      setDrop(target)
    }
    const finish = (isOver: boolean) => {
      head.removeEventListener('pointermove', move)
      ended.abort()
      setDrop(undefined)
      if (isOver && target !== undefined) onMove(id, ids.indexOf(target.id))
    }
    const ended = new AbortController()
    head.addEventListener('pointermove', move)
    addEventListener('pointerup', () => finish(true), { signal: ended.signal })
    addEventListener('pointercancel', () => finish(false), { signal: ended.signal })
  }
  /** Suppresses the click event that the browser sends at the end of a drag. */
  const onClickCapture = (event: MouseEvent) => {
    if (!wasDragged.current) return
    wasDragged.current = false
    event.stopPropagation()
    event.preventDefault()
  }
  const onKeyDown = (id: string, event: KeyboardEvent<HTMLElement>) => {
    const step = event.shiftKey ? { ArrowLeft: -1, ArrowRight: 1 }[event.key] : undefined
    const isPin = event.key.toLowerCase() === 'p' && !event.ctrlKey && !event.metaKey && !event.altKey
    const to = ids.indexOf(id) + (step ?? 0)
    if (isResizeHandle(event)) return
    if (step !== undefined && onMove !== undefined && to >= 0 && to < ids.length) onMove(id, to)
    else if (isPin && onPin !== undefined) onPin(id)
    else return
    event.preventDefault()
    // The focus is set again, because the browser removes it when the header moves in the document.
    const row = event.currentTarget.parentElement
    requestAnimationFrame(() => focusable(row?.querySelector(`[data-column="${CSS.escape(id)}"]`))?.focus())
  }
  return { drop, onPointerDown, onClickCapture, onKeyDown }
}

/**
 * Returns true when the event belongs to the resize handle of a column, which handles pointer and keyboard events
 * itself.
 */
function isResizeHandle({ target }: { target: EventTarget }): boolean {
  return (target as HTMLElement).closest('.grid-edge') !== null
}

/**
 * Returns the column at a position on the screen. Pinned columns can cover other columns, so the topmost element at the
 * position is used.
 */
function dropAt(ids: readonly string[], moved: string, { x, y }: { x: number; y: number }): DropTarget | undefined {
  const columnId = document.elementFromPoint(x, y)?.closest<HTMLElement>('[data-column]')?.dataset.column
  if (columnId === undefined || columnId === moved || !ids.includes(columnId)) return undefined
  return { id: columnId, side: ids.indexOf(columnId) > ids.indexOf(moved) ? 'after' : 'before' }
}

function focusable(head: Element | null | undefined): HTMLElement | null {
  return head?.querySelector<HTMLElement>('.grid-sort') ?? (head as HTMLElement | null | undefined) ?? null
}
