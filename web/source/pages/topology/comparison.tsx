import { changedKinds, type changeKinds, type TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { TimestampField } from '../../components/forms/timestamp-field.tsx'
import { FigureTile } from '../../components/values/figure-tiles.tsx'
import { changeCount, occurredChangedKinds } from './change-counts.ts'
import type { MapQuery } from './map-data.ts'
import type { MapEmphasis } from './map-emphasis.ts'
import { mapMessages } from './map-messages.ts'
import { TileHint } from './place-figures.tsx'
import { differencesOf } from './place-links.ts'
import { kindNames } from './place-list.tsx'
import { Timeline } from './timeline.tsx'
import { timelineBars } from './timeline-bars.ts'
import { timelineMessages } from './timeline-messages.ts'
import { comparedSince, exactPositionAt, type Span, spans, timeAt, timelineOf } from './timeline-scale.ts'
import type { ChangeTopologySearch, TopologySearchState } from './topology-search.ts'

type ComparisonProps = {
  /** The hierarchy node whose changes are counted. If undefined, the changes of all assets are counted. */
  node: string | undefined
  span: Span
  /** The chosen start of the compared time. The default is the start of the time range. */
  since: string | undefined
  /** The displayed time. If undefined, the current topology is displayed. */
  at: string | undefined
  total: TopologyGroups['total']
  emphasis: MapEmphasis
  onEmphasis: (emphasis: MapEmphasis) => void
  change: ChangeTopologySearch
}

/**
 * `Comparison` chooses the two moments that the map compares: with fields, and with the handles of a timeline of all changes. It shows
 * the number of changed assets by kind of change.
 */
export function Comparison({ node, span, since, at, total, emphasis, onEmphasis, change }: ComparisonProps) {
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
  const counts = useMemo(() => {
    const counts = Array.from({ length: line.bars }, () => 0)
    for (const { time, created, updated, deleted } of data?.data ?? []) {
      const index = Math.max(0, Math.floor((Date.parse(time) - line.start) / line.barMs))
      if (index < counts.length) counts[index] = (counts[index] ?? 0) + created + updated + deleted
    }
    return counts
  }, [data, line])
  const [dragged, setDragged] = useState<{ since: number; at: number }>()
  const start = comparedSince(span, { since, at, now })
  const chosen = {
    since: exactPositionAt(line, Date.parse(start)),
    at: at === undefined ? line.bars : exactPositionAt(line, Date.parse(at)),
  }
  const { since: shownSince, at: shownAt } = dragged ?? chosen
  // The scale does not change while the user drags a handle.
  const bars = timelineBars(counts, chosen)
  const timeOfHandle = (position: number) => new Date(Math.min(now, timeAt(line, position))).toISOString()
  const commit = (next: { since: number; at: number }) => {
    setDragged(undefined)
    change({
      at: next.at >= line.bars ? undefined : timeOfHandle(next.at),
      since: timeOfHandle(next.since),
      compare: 'yes',
      // The bars stay where they are while the user moves the handles.
      span,
    })
  }
  // The exact start can be between two bars.
  const isExact = since !== undefined && dragged === undefined
  const from = formats.dateTime(isExact ? since : timeOfHandle(shownSince))
  const to = shownAt >= line.bars ? text.now : formats.dateTime(timeOfHandle(shownAt))
  const changeTimes = (times: { since?: string | undefined; at?: string | undefined }) => {
    const next = { at, ...times, since: times.since ?? start }
    // A start that is not before the end would be refused.
    if (next.since < (next.at ?? new Date().toISOString())) change({ ...next, compare: 'yes', span: undefined })
  }
  return (
    <section className="comparison" aria-label={text.title}>
      <div className="comparison-head">
        <strong>{text.heading}</strong>
        <span className="unseen" role="status">
          {text.between(from, to)}
        </span>
        <TimestampField
          label={text.start}
          value={start}
          onChange={(time) => time !== undefined && changeTimes({ since: time })}
        />
        <TimestampField
          label={text.end}
          value={at}
          placeholder={text.now}
          onChange={(time) => changeTimes({ at: time })}
        />
        <SelectField
          label={text.span}
          value={span}
          choices={spans.map((value) => ({ value, label: text[value] }))}
          onChange={(value) => change({ span: value, since: undefined, at: undefined })}
        />
        <IxButton
          variant="secondary"
          onClick={() => change({ at: undefined, since: undefined, compare: undefined, span: undefined })}
        >
          {text.close}
        </IxButton>
      </div>
      <ChangeFilters total={total} emphasis={emphasis} onEmphasis={onEmphasis} />
      <Timeline
        span={span}
        line={line}
        bars={bars}
        since={shownSince}
        at={shownAt}
        sinceValue={from}
        atValue={to}
        onDrag={setDragged}
        onCommit={commit}
      />
    </section>
  )
}

/** The order of the buttons: the kinds of changed assets follow their number. */
const filterOrder = ['added', 'removed', 'changed'] as const satisfies (typeof changeKinds)[number][]

type ChangeFiltersProps = Pick<ComparisonProps, 'total' | 'emphasis' | 'onEmphasis'>

/** `ChangeFilters` shows the numbers of assets by kind of change. Choosing a kind fades all other items of the map. */
function ChangeFilters({ total: { changes, changeKinds: kinds }, emphasis, onEmphasis }: ChangeFiltersProps) {
  const text = useText(mapMessages)
  const timelineText = useText(timelineMessages)
  const formats = useFormats()
  const chosenKind = typeof emphasis === 'object' && 'changed' in emphasis ? emphasis.changed : undefined
  const occurred = occurredChangedKinds(kinds)
  const shownKinds = changedKinds.filter((kind) => occurred.includes(kind) || kind === chosenKind)
  const parts = shownKinds.map((kind) => ({
    key: kind,
    name: kindNames(text)[kind],
    count: kinds?.[kind] ?? 0,
    emphasis: { changed: kind } as const,
    isPressed: kind === chosenKind,
  }))
  const chosen = typeof emphasis === 'object' && 'change' in emphasis ? emphasis.change : undefined
  const entries = filterOrder
    .filter((kind) => changes[kind] > 0 || kind === chosen)
    .map((kind) => ({
      key: kind,
      name: text[kind],
      count: changes[kind],
      emphasis: { change: kind } as const,
      isPressed: kind === chosen,
    }))
  const button = ({
    key,
    name,
    count,
    isPressed,
    emphasis: own,
  }: (typeof entries)[number] | (typeof parts)[number]) => (
    <button
      key={key}
      type="button"
      className="change-filter"
      data-kind={key}
      aria-pressed={isPressed}
      onClick={() => onEmphasis(isPressed ? undefined : own)}
    >
      <strong>{formats.number(count)}</strong> {name}
    </button>
  )
  return (
    <div className="change-filters">
      <span title={timelineText.countsHint}>{timelineText.changedAssets(formats.number(changeCount(changes)))}</span>
      {entries.map(button)}
      {parts.length > 0 && (
        <>
          <span className="quiet">{timelineText.ofThese}</span>
          {parts.map(button)}
        </>
      )}
    </div>
  )
}

type DifferenceCountProps = { query: MapQuery; place: string; total: TopologyGroups['total'] }

/** `DifferenceCount` is the number of assets of the current group that differ, with the page that lists exactly these assets. */
export function DifferenceCount({ query, place, total }: DifferenceCountProps) {
  const text = useText(timelineMessages)
  const mapText = useText(mapMessages)
  const formats = useFormats()
  const list = differencesOf(query, { place, changes: total.changes })
  return (
    <span className="map-count">
      <span className="quiet">{text.differ(formats.number(changeCount(total.changes)))}</span>
      {list !== undefined && (
        <Link to={list.to} search={list.search as never}>
          {mapText.openList}
        </Link>
      )}
    </span>
  )
}

type ChangeTileProps = { span: Span; total: TopologyGroups['total']; search: TopologySearchState }

/** `ChangeTile` shows how many assets changed in the time range, and opens the comparison. */
export function ChangeTile({ span, total, search }: ChangeTileProps) {
  const text = useText(timelineMessages)
  return (
    <FigureTile
      name={text[`last${span}`]}
      value={changeCount(total.changes)}
      hint={<TileHint facts={text.eachOnce} action={text.compare} />}
      to="/topology"
      search={{ ...search, compare: 'yes' }}
    />
  )
}
