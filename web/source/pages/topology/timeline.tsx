import { iconChevronDownSmall, iconChevronRightSmall } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, type PointerEvent, useMemo, useRef, useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { TimestampField } from '../../components/forms/timestamp-field.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { changesText } from './change-counts.ts'
import { timelineMessages } from './timeline-messages.ts'
import {
  comparedSince,
  exactPositionAt,
  nearestPosition,
  placeOf,
  type Span,
  spans,
  type TimelineScale,
  ticksOf,
  timeAt,
  timelineOf,
} from './timeline-scale.ts'
import type { ChangeTopologySearch } from './topology-search.ts'

type TimelineProps = {
  /** Whether Activity has the entries of the same assets. It has no entries of a subnet, a switch or a filter. */
  hasEntries: boolean
  /** The hierarchy node whose changes are counted. If undefined, the changes of all assets are counted. */
  node: string | undefined
  span: Span
  /** The chosen start of the compared time. The default is the start of the time range. */
  since: string | undefined
  /** The displayed time. If undefined, the current topology is displayed. */
  at: string | undefined
  isComparing: boolean
  changes: { added: number; changed: number; removed: number }
  change: ChangeTopologySearch
}

/**
 * `Timeline` shows how many changes occurred when. Its two handles choose the displayed time (right) and the start of the
 * compared time (left). Arrow keys move a handle by one bar. The bars are folded until the user opens them or compares.
 */
export function Timeline({ hasEntries, node, span, since, at, isComparing, changes, change }: TimelineProps) {
  const text = useText(timelineMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const [now] = useState(() => Date.now())
  const line = useMemo(() => timelineOf(span, now), [span, now])
  const { data } = useQuery({
    ...query(['activity', 'readHistogram'], {
      query: {
        // The buckets of the histogram start at this time.
        from: new Date(line.start).toISOString(),
        to: new Date(line.to).toISOString(),
        bucket: line.bucket,
        ...(node !== undefined && { node }),
      },
    }),
    staleTime: 60_000,
  })
  const bars = useMemo(() => {
    const counts = Array.from({ length: line.bars }, () => 0)
    for (const { time, created, updated, deleted } of data?.data ?? []) {
      const index = Math.max(0, Math.floor((Date.parse(time) - line.start) / line.barMs))
      if (index < counts.length) counts[index] = (counts[index] ?? 0) + created + updated + deleted
    }
    return counts
  }, [data, line])
  const entries = bars.reduce((sum, count) => sum + count, 0)
  const [isOpen, setOpen] = useState(isComparing || at !== undefined || since !== undefined)
  const [dragged, setDragged] = useState<{ since: number; at: number }>()
  const start = comparedSince(span, { since, at, now })
  const shownAt = dragged?.at ?? (at === undefined ? line.bars : exactPositionAt(line, Date.parse(at)))
  const shownSince = dragged?.since ?? exactPositionAt(line, Date.parse(start))
  function timeOfHandle(position: number): number {
    return Math.min(now, timeAt(line, position))
  }
  const commit = (next: { since: number; at: number }) => {
    setDragged(undefined)
    const isNow = next.at >= line.bars
    change({
      at: isNow ? undefined : new Date(timeOfHandle(next.at)).toISOString(),
      since: new Date(timeOfHandle(next.since)).toISOString(),
      compare: 'yes',
      // The bars stay where they are while the user moves the handles.
      span,
    })
  }
  // The exact start can be between two bars.
  const isExact = since !== undefined && dragged === undefined
  const from = formats.dateTime(isExact ? since : new Date(timeOfHandle(shownSince)).toISOString())
  const to = shownAt >= line.bars ? text.now : formats.dateTime(new Date(timeOfHandle(shownAt)).toISOString())
  const isComparison = isComparing || at !== undefined || since !== undefined
  const close = { at: undefined, since: undefined, compare: undefined, span: undefined }
  const changeTimes = (times: { since?: string | undefined; at?: string | undefined }) => {
    const next = { at, ...times, since: times.since ?? start }
    // A start that is not before the end would be refused.
    if (next.since < (next.at ?? new Date().toISOString())) change({ ...next, compare: 'yes', span: undefined })
  }
  const spanField = (
    <SelectField
      label={text.span}
      value={span}
      choices={spans.map((value) => ({ value, label: text[value] }))}
      onChange={(value) => change({ span: value, since: undefined, at: undefined })}
    />
  )
  return (
    <section className="timeline" aria-label={text.title}>
      <div className="timeline-head">
        <button
          type="button"
          className="link-button timeline-toggle"
          aria-expanded={isOpen}
          aria-label={text.bars}
          title={text.bars}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? iconChevronDownSmall : iconChevronRightSmall} size={16} />
        </button>
        <p className="timeline-range" role="status">
          <strong>{isComparison ? text.between(from, to) : text[`last${span}`]}</strong>
          <span className="quiet" title={text.countsHint}>
            {changesText(changes, text, formats.number)}
            {hasEntries && !isComparison && entries > 0 && ` · ${text.changes(entries, formats.number(entries))}`}
            {isOpen && !isComparison && `. ${text.hint}`}
          </span>
        </p>
        {isComparison ? (
          <IxButton variant="secondary" onClick={() => change(close)}>
            {text.close}
          </IxButton>
        ) : (
          <>
            <IxButton
              variant="secondary"
              onClick={() => {
                setOpen(true)
                change({ compare: 'yes' })
              }}
            >
              {text.compare}
            </IxButton>
            {spanField}
          </>
        )}
      </div>
      {isComparison && (
        <div className="timeline-times">
          <TimestampField
            label={text.start}
            value={start}
            onChange={(time) => time !== undefined && changeTimes({ since: time })}
          />
          <TimestampField label={text.end} value={at} onChange={(time) => changeTimes({ at: time })} />
          {spanField}
        </div>
      )}
      {isOpen && (
        <>
          <Track
            line={line}
            bars={bars}
            since={shownSince}
            at={shownAt}
            texts={{ since: text.since, at: text.at, sinceValue: from, atValue: to }}
            titleOf={(count) => text.changes(count, formats.number(count))}
            onDrag={setDragged}
            onCommit={commit}
          />
          <div className="timeline-scale quiet" aria-hidden="true">
            {ticksOf(span, line).map(({ time, place, isDay }) => (
              <span key={time} style={{ left: `${place * 100}%` }} data-day={isDay}>
                {isDay
                  ? formats.shortDay(new Date(time).toISOString())
                  : formats.shortTime(new Date(time).toISOString())}
              </span>
            ))}
            <span className="timeline-now">
              {text.now}, {formats.shortTime(new Date(line.to).toISOString())}
            </span>
          </div>
        </>
      )}
    </section>
  )
}

type TrackProps = {
  line: TimelineScale
  bars: readonly number[]
  since: number
  at: number
  texts: { since: string; at: string; sinceValue: string; atValue: string }
  /** Returns the tooltip of a bar. */
  titleOf: (count: number) => string
  onDrag: (range: { since: number; at: number }) => void
  onCommit: (range: { since: number; at: number }) => void
}

/** The part of the height for the highest bar, in percent. */
const barPart = 88

/** `Track` contains the bars and the two handles. Dragging on the bars chooses a new range. */
function Track({ line, bars, since, at, texts, titleOf, onDrag, onCommit }: TrackProps) {
  const place = useRef<HTMLDivElement>(null)
  const grip = useRef<{ kind: 'since' | 'at' | 'range'; start: number }>(undefined)
  const highest = Math.max(1, ...bars)
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
        {bars.map((count, index) => {
          const height = count === 0 ? 0 : Math.max(4, (Math.sqrt(count) / Math.sqrt(highest)) * barPart)
          const isChosen = index + 1 > since && index < at
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
      {handle('since', texts.since, texts.sinceValue)}
      {handle('at', texts.at, texts.atValue)}
    </div>
  )
}
