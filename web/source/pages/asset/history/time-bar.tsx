import { iconChevronLeft, iconChevronRight } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { useEffect, useEffectEvent, useId, useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useLive } from '../../../app/live/live-queries.ts'
import { MomentField } from '../../../components/forms/timestamp-field.tsx'
import { type Asset, textAt } from '../../assets/model/asset.ts'
import { relationEvents, useKeptFrom, useLatestHistory } from '../asset-data.ts'
import { assetMessages } from '../messages.ts'

type Given = { asset: Asset; at: string | undefined; onChange: (at: string | undefined) => void }

/** While somebody drags, nothing is asked; a moment after, what was then. */
const settleMs = 250

/** Moves through the past of an asset, from when it came to be until now. */
export function TimeBar({ asset, at, onChange }: Given) {
  const text = useText(assetMessages)
  const formats = useFormats()
  const id = useId()
  const { first, last, changes, goOn } = useSpan(asset)
  const [drawn, setDrawn] = useState<number>()
  const shown = drawn ?? (at === undefined ? last : Date.parse(at))
  const settle = useEffectEvent((time: number) => {
    onChange(time >= last ? undefined : new Date(time).toISOString())
    setDrawn(undefined)
  })
  useEffect(() => {
    if (drawn === undefined) return
    const timer = setTimeout(() => settle(drawn), settleMs)
    return () => clearTimeout(timer)
  }, [drawn])
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
      <span className="time-track">
        <input
          id={id}
          type="range"
          min={first}
          max={last}
          step={Math.max(1, Math.floor((last - first) / 5_000))}
          value={shown}
          aria-valuetext={label}
          onFocus={goOn}
          onPointerEnter={goOn}
          onChange={({ target }) => setDrawn(Number(target.value))}
        />
        <span className="time-marks" aria-hidden="true">
          {placesOf(changes, { first, last }).map((place) => (
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
      <MomentField label={text.exact} isLabelUnseen value={at} onChange={onChange} />
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

/** Where changes lie between the ends, in percent; those that would touch are one. */
function placesOf(changes: readonly number[], { first, last }: { first: number; last: number }): number[] {
  const places = changes.map((time) => Math.round((100 * (time - first)) / Math.max(1, last - first)))
  return [...new Set(places)]
}

/** From when something is known of it until now, which goes on when something happens or somebody wants to go back. */
function useSpan(asset: Asset) {
  const [now, setNow] = useState(() => Date.now())
  const goOn = () => setNow(Date.now())
  useLive(relationEvents, goOn)
  const keptFrom = useKeptFrom()
  const history = useLatestHistory(asset.id)
  const changes = (history.data?.data ?? []).map(({ time }) => Date.parse(time)).toReversed()
  const created = Date.parse(textAt(asset, 'created_timestamp'))
  const first = Math.max(Number.isNaN(created) ? (changes[0] ?? now) : created, keptFrom)
  const last = Math.max(now, changes.at(-1) ?? 0, first + 1)
  return { first, last, changes: changes.filter((time) => time >= first), goOn }
}
