import { type KeyboardEvent, type PointerEvent, useRef } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { isSelectedBar, type TimelineBar } from './timeline-bars.ts'
import { labelledBars } from './timeline-labels.ts'
import { timelineMessages } from './timeline-messages.ts'
import { nearestPosition, placeOf, type Span, type TimelineScale, ticksOf } from './timeline-scale.ts'

type Range = { since: number; at: number }

type TimelineProps = {
  span: Span
  line: TimelineScale
  bars: readonly TimelineBar[]
  /** The positions of the handles, and their times. */
  since: number
  at: number
  sinceValue: string
  atValue: string
  onDrag: (range: Range) => void
  onCommit: (range: Range) => void
}

/**
 * `Timeline` shows how many changes occurred when. Its two handles choose the displayed time (right) and the start of the
 * compared time (left). Arrow keys move a handle by one bar.
 */
export function Timeline({ span, line, bars, since, at, sinceValue, atValue, onDrag, onCommit }: TimelineProps) {
  const text = useText(timelineMessages)
  const formats = useFormats()
  const end = new Date(line.to).toISOString()
  return (
    <div className="timeline">
      <p className="quiet timeline-unit">
        <span>
          {text[`per${line.bucket}`]} {text.perAsset} {text.hint}
        </span>
        <span>
          {text.now}: {formats.shortDay(end)}, {formats.shortTime(end)}
        </span>
      </p>
      <Track
        line={line}
        bars={bars}
        since={since}
        at={at}
        texts={{ since: text.since, at: text.at, sinceValue, atValue }}
        numberOf={formats.number}
        titleOf={(count) => text.changes(count, formats.number(count))}
        onDrag={onDrag}
        onCommit={onCommit}
      />
      <div className="timeline-scale quiet" aria-hidden="true">
        {ticksOf(span, line).map(({ time, place, isDay, isNamed }) => (
          <span key={time} style={{ left: `${place * 100}%` }} data-day={isDay}>
            {isNamed && (isDay ? formats.shortDay : formats.shortTime)(new Date(time).toISOString())}
          </span>
        ))}
      </div>
    </div>
  )
}

type TrackProps = {
  line: TimelineScale
  bars: readonly TimelineBar[]
  since: number
  at: number
  texts: { since: string; at: string; sinceValue: string; atValue: string }
  numberOf: (count: number) => string
  /** Returns the tooltip of a bar. */
  titleOf: (count: number) => string
  onDrag: (range: { since: number; at: number }) => void
  onCommit: (range: { since: number; at: number }) => void
}

/** The number of a bar after this place is at the left of the middle of the bar. */
const endOfNumbers = 0.97

/** `Track` contains the bars and the two handles. Dragging on the bars chooses a new range. */
function Track({ line, bars, since, at, texts, numberOf, titleOf, onDrag, onCommit }: TrackProps) {
  const place = useRef<HTMLDivElement>(null)
  const grip = useRef<{ kind: 'since' | 'at' | 'range'; start: number }>(undefined)
  const positionOf = (event: PointerEvent) => {
    const box = place.current?.getBoundingClientRect()
    if (box === undefined || box.width === 0) return 0
    return nearestPosition(line, (event.clientX - box.left) / box.width)
  }
  const rangeFor = (position: number) => {
    const { kind, start } = grip.current ?? { kind: 'range', start: position }
    if (kind === 'since') return { since: Math.min(position, at - 1), at }
    if (kind === 'at') return { since: Math.min(since, position - 1), at: Math.max(position, 1) }
    return { since: Math.min(start, position), at: Math.max(start, position, Math.min(start, position) + 1) }
  }
  const press = (kind: 'since' | 'at' | 'range') => (event: PointerEvent) => {
    event.stopPropagation()
    event.currentTarget.setPointerCapture(event.pointerId)
    grip.current = { kind, start: positionOf(event) }
  }
  const move = (event: PointerEvent) => {
    if (grip.current !== undefined) onDrag(rangeFor(positionOf(event)))
  }
  const release = (event: PointerEvent) => {
    if (grip.current === undefined) return
    const range = rangeFor(positionOf(event))
    grip.current = undefined
    onCommit(range)
  }
  const onKey = (kind: 'since' | 'at') => (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -24, PageUp: 24, Home: -bars.length, End: bars.length }[
      event.key
    ]
    if (step === undefined) return
    event.preventDefault()
    const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value))
    const [first, last] = [Math.round(since), Math.round(at)]
    if (kind === 'since') onCommit({ since: clamp(first + step, 0, last - 1), at: last })
    else onCommit({ since: first, at: clamp(last + step, first + 1, bars.length) })
  }
  const percent = (position: number) => `${placeOf(line, position) * 100}%`
  const handle = (kind: 'since' | 'at', label: string, value: string) => (
    <div
      className={`timeline-handle timeline-${kind}`}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={bars.length}
      aria-valuenow={Math.round(kind === 'since' ? since : at)}
      aria-valuetext={value}
      style={{ left: percent(kind === 'since' ? since : at) }}
      onPointerDown={press(kind)}
      onPointerMove={move}
      onPointerUp={release}
      onKeyDown={onKey(kind)}
    />
  )
  return (
    <div
      className="timeline-track"
      ref={place}
      onPointerDown={press('range')}
      onPointerMove={move}
      onPointerUp={release}
    >
      <div
        className="timeline-chosen"
        style={{ left: percent(since), width: `${(placeOf(line, at) - placeOf(line, since)) * 100}%` }}
      />
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
        {bars.map(({ count, height }, index) => {
          const isChosen = isSelectedBar(index, { since, at })
          const [left, right] = [placeOf(line, index) * 100, placeOf(line, index + 1) * 100]
          const gap = (right - left) * 0.1
          return (
            <rect
              // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its place
              key={index}
              className={isChosen ? 'timeline-bar timeline-bar-chosen' : 'timeline-bar'}
              x={left + gap}
              width={Math.max(0, right - left - 2 * gap)}
              y={100 - height}
              height={height}
            >
              {count > 0 && <title>{titleOf(count)}</title>}
            </rect>
          )
        })}
      </svg>
      {bars.map(
        ({ isCut }, index) =>
          isCut && (
            <span
              // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its place
              key={index}
              className="timeline-break"
              style={{
                left: percent(index),
                width: `${(placeOf(line, index + 1) - placeOf(line, index)) * 100}%`,
              }}
              aria-hidden="true"
            />
          ),
      )}
      {labelledBars(
        bars.map(({ count }) => count),
        (position) => placeOf(line, position),
      ).map(({ index, place: left }) => (
        <span
          key={index}
          className="timeline-number"
          data-end={left > endOfNumbers || Math.abs(left - placeOf(line, since)) < 0.03}
          data-handle={Math.abs(left - placeOf(line, at)) < 0.02}
          style={{ left: `${left * 100}%`, bottom: `${bars[index]?.height ?? 0}%` }}
          aria-hidden="true"
        >
          {numberOf(bars[index]?.count ?? 0)}
        </span>
      ))}
      {handle('since', texts.since, texts.sinceValue)}
      {handle('at', texts.at, texts.atValue)}
    </div>
  )
}
