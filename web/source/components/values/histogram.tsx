import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react'
import { barsOf, bucketAt, heightOf, movedSelection, type Selection, scaleEnd, ticksOf } from './histogram-geometry.ts'
import './histogram.css'

/** `HistogramBucket` is a span of time with the counts of each series. Buckets are in order and have no gaps. */
export type HistogramBucket = { time: number; counts: readonly number[] }

type HistogramProps = {
  label: string
  /** How to use the histogram, for screen readers. */
  hint: string
  buckets: readonly HistogramBucket[]
  /** The selected buckets: the indexes of the first and the last one. */
  selection: Selection | undefined
  onSelect: (selection: Selection | undefined) => void
  /** Returns the text of a count at the scale. */
  scaleLabel: (count: number) => string
  /** A text in the empty part before the first bar. `share` is the width of this part, between 0 and 1. */
  note?: { text: string; share: number } | undefined
  /** Returns the text of a range of buckets, for the line above the bars and for screen readers. */
  describe: (first: HistogramBucket, last: HistogramBucket) => string
  /** Returns the label of a bucket at the axis. */
  tickLabel: (time: number) => string
  /** Returns whether a bucket can have a label at the axis. */
  isTick: (time: number) => boolean
}

const height = 88

/**
 * `Histogram` shows counts over time as stacked bars. The user selects a range with the mouse or with the keyboard: arrow keys
 * move, Shift extends the range, Enter selects one bar, Escape clears the selection.
 */
export function Histogram(props: HistogramProps) {
  const { label, hint, buckets, selection, onSelect, describe, scaleLabel, note, tickLabel, isTick } = props
  const area = useRef<HTMLDivElement>(null)
  const [cursor, setCursor] = useState(buckets.length - 1)
  const [drag, setDrag] = useState<Selection>()
  const [hovered, setHovered] = useState<number>()
  const shown = drag ?? selection
  const active = Math.min(cursor, buckets.length - 1)
  const [isFocused, setFocused] = useState(false)
  const pointed = hovered ?? (isFocused ? active : undefined)
  const first = buckets[pointed ?? shown?.first ?? 0]
  const last = buckets[pointed ?? shown?.last ?? buckets.length - 1]
  const indexAt = (event: PointerEvent) => {
    const { left, width } = area.current?.getBoundingClientRect() ?? { left: 0, width: 1 }
    return bucketAt((event.clientX - left) / width, buckets.length)
  }
  const onKey = (event: KeyboardEvent) => {
    const move = movedSelection(event, { cursor: active, selection, count: buckets.length })
    if (move === undefined) return
    event.preventDefault()
    event.stopPropagation()
    setCursor(move.cursor)
    if (move.isSelecting) onSelect(move.selection)
  }
  const most = scaleEnd(buckets)
  const series = Math.max(1, ...buckets.map(({ counts }) => counts.length))
  const levels = [most, most / 2].map((count) => ({ count, y: height - heightOf(count, { most, height, series }) }))
  const text = first === undefined || last === undefined ? '' : describe(first, last)
  return (
    <div className="histogram">
      <p className="histogram-text" aria-hidden="true">
        {text}
      </p>
      <div
        ref={area}
        className="histogram-area"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-description={hint}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, buckets.length - 1)}
        aria-valuenow={active}
        aria-valuetext={buckets[active] === undefined ? '' : describe(buckets[active], buckets[active])}
        onKeyDown={onKey}
        onFocus={({ currentTarget }) => setFocused(currentTarget.matches(':focus-visible'))}
        onBlur={() => setFocused(false)}
        onPointerDown={(event) => {
          if (event.button !== 0) return
          event.currentTarget.setPointerCapture(event.pointerId)
          const index = indexAt(event)
          setCursor(index)
          setDrag({ first: index, last: index, from: index })
        }}
        onPointerMove={(event) => {
          const index = indexAt(event)
          setHovered(index)
          if (drag !== undefined) {
            const from = drag.from ?? index
            setDrag({ first: Math.min(from, index), last: Math.max(from, index), from })
          }
        }}
        onPointerLeave={() => setHovered(undefined)}
        onPointerCancel={() => setDrag(undefined)}
        onPointerUp={() => {
          if (drag === undefined) return
          setDrag(undefined)
          onSelect({ first: drag.first, last: drag.last })
        }}
      >
        <svg width="100%" height={height} aria-hidden="true">
          {levels.map(({ count, y }) => (
            <g key={count} className="histogram-level">
              <line x1="0" x2="100%" y1={y} y2={y} />
              <text x="-8" y={y}>
                {scaleLabel(count)}
              </text>
            </g>
          ))}
          {shown !== undefined && (
            <rect
              className="histogram-selection"
              x={`${(shown.first / buckets.length) * 100}%`}
              width={`${((shown.last - shown.first + 1) / buckets.length) * 100}%`}
              height={height}
            />
          )}
          {barsOf(buckets, height).map(({ bucket, series, x, width, y, size }) => (
            <rect
              key={`${bucket} ${series}`}
              className="histogram-bar"
              data-series={series}
              data-faded={shown !== undefined && (bucket < shown.first || bucket > shown.last)}
              x={`${x}%`}
              width={`${width}%`}
              y={y}
              height={size}
            />
          ))}
          {isFocused && (
            <rect
              className="histogram-cursor"
              x={`${(active / buckets.length) * 100}%`}
              width={`${100 / buckets.length}%`}
              height={height}
            />
          )}
          <line className="histogram-base" x1="0" x2="100%" y1={height - 0.5} y2={height - 0.5} />
        </svg>
        {note !== undefined && (
          <p className="histogram-note" style={{ width: `${note.share * 100}%` }}>
            {note.text}
          </p>
        )}
      </div>
      <svg className="histogram-axis" height="18" aria-hidden="true">
        {ticksOf(buckets, isTick).map(({ time, x }) => (
          <text key={time} x={`${x}%`} y="14">
            {tickLabel(time)}
          </text>
        ))}
      </svg>
    </div>
  )
}
