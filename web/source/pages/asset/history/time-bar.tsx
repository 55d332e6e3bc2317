import { iconChevronLeft, iconChevronRight } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { useEffect, useEffectEvent, useId, useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useLiveEvents } from '../../../app/live/live-queries.ts'
import { TimestampField } from '../../../components/forms/timestamp-field.tsx'
import { type Asset, textAt } from '../../assets/model/asset.ts'
import { relationEvents, useHistoryStart, useLatestHistory } from '../asset-data.ts'
import { assetMessages } from '../messages.ts'

type TimeBarProps = { asset: Asset; at: string | undefined; onChange: (at: string | undefined) => void }

/** The delay before the selected version is loaded, so that not every version that the slider passes is loaded. */
const debounceMs = 250

/** `TimeBar` is a slider that selects a version of an asset, between its creation and now. */
export function TimeBar({ asset, at, onChange }: TimeBarProps) {
  const text = useText(assetMessages)
  const formats = useFormats()
  const id = useId()
  const { first, last, changes, goOn: extendToNow } = useTimeSpan(asset)
  const [dragged, setDragged] = useState<number>()
  const shown = dragged ?? (at === undefined ? last : Date.parse(at))
  const settle = useEffectEvent((time: number) => {
    onChange(time >= last ? undefined : new Date(time).toISOString())
    setDragged(undefined)
  })
  useEffect(() => {
    if (dragged === undefined) return
    const timer = setTimeout(() => settle(dragged), debounceMs)
    return () => clearTimeout(timer)
  }, [dragged])
  const before = changes.findLast((time) => time < shown)
  const after = changes.find((time) => time > shown)
  const isPast = shown < last
  const label = isPast ? formats.dateTime(new Date(shown).toISOString()) : text.now
  return (
    <section className="time-bar" data-past={isPast} aria-label={text.timeHint}>
      <label htmlFor={id} className="time-label">
        {text.time}
      </label>
      <IxIconButton
        icon={iconChevronLeft}
        variant="subtle-tertiary"
        aria-label={text.earlier}
        disabled={before === undefined}
        onClick={() => before !== undefined && onChange(new Date(before).toISOString())}
      />
      <span className="time-start">{formats.date(new Date(first).toISOString())}</span>
      <span className="time-track">
        <input
          id={id}
          type="range"
          min={first}
          max={last}
          step={Math.max(1, Math.floor((last - first) / 5_000))}
          value={shown}
          aria-valuetext={label}
          onFocus={extendToNow}
          onPointerEnter={extendToNow}
          onChange={({ target }) => setDragged(Number(target.value))}
        />
        <span className="time-marks" aria-hidden="true">
          {markPositions(changes, { first, last }).map((place) => (
            <i key={place} style={{ left: `${place}%` }} />
          ))}
        </span>
      </span>
      <IxIconButton
        icon={iconChevronRight}
        variant="subtle-tertiary"
        aria-label={text.later}
        disabled={after === undefined || !isPast}
        onClick={() => after !== undefined && onChange(new Date(after).toISOString())}
      />
      <output htmlFor={id} className="time-shown">
        {label}
      </output>
      <TimestampField label={text.exact} isLabelUnseen value={at} onChange={onChange} />
      {isPast && (
        <p className="time-note" role="status">
          {text.asOf(label)}
          <IxButton variant="tertiary" onClick={() => onChange(undefined)}>
            {text.backToNow}
          </IxButton>
        </p>
      )}
    </section>
  )
}

/** The distance between two marks, in percent. */
const markStep = 2

/**
 * Returns the positions of the changes on the slider, in percent. Changes that are close together are shown as one mark.
 */
function markPositions(changes: readonly number[], { first, last }: { first: number; last: number }): number[] {
  const places = changes.map(
    (time) => markStep * Math.round((100 * (time - first)) / Math.max(1, last - first) / markStep),
  )
  return [...new Set(places)]
}

/**
 * Returns the time span of the slider. The span is extended to the current time when an event arrives, and when the
 * user focuses the slider.
 */
function useTimeSpan(asset: Asset) {
  const [now, setNow] = useState(() => Date.now())
  const extendToNow = () => setNow(Date.now())
  useLiveEvents(relationEvents, extendToNow)
  const historyStart = useHistoryStart()
  const history = useLatestHistory(asset.id)
  const changes = (history.data?.data ?? []).map(({ time }) => Date.parse(time)).toReversed()
  const created = Date.parse(textAt(asset, 'created_timestamp'))
  const first = Math.max(Number.isNaN(created) ? (changes[0] ?? now) : created, historyStart)
  const last = Math.max(now, changes.at(-1) ?? 0, first + 1)
  return { first, last, changes: changes.filter((time) => time >= first), goOn: extendToNow }
}
