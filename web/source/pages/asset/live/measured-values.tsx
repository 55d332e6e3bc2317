import { IxButton } from '@siemens/ix-react'
import { useEffect, useState } from 'react'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { Card } from '../../../components/page/card.tsx'
import { type LiveProperty, measuredValues, type Sample, withSamples } from './live-properties.ts'
import { liveMessages } from './messages.ts'
import { Trend } from './trend.tsx'
import './live.css'

/** The interval of live reading, and the number of reads after which it pauses. Each read is a job of the gateway. */
export const liveReading = { everyMs: 10_000, reads: 60 } as const

type MeasuredValuesProps = {
  results: readonly { key: string; value?: unknown }[]
  /** The time of the last read, in milliseconds since 1970. */
  readAt: number
  isLive: boolean
  onLive: (isLive: boolean) => void
}

/** `MeasuredValues` shows the measured values of a device with their trend since the page was opened. */
export function MeasuredValues({ results, readAt, isLive, onLive }: MeasuredValuesProps) {
  const text = useText(liveMessages)
  const formats = useFormats()
  const language = useLanguage()
  const values = measuredValues(results, language)
  const [samples, setSamples] = useState<ReadonlyMap<string, readonly Sample[]>>(new Map())
  // biome-ignore lint/correctness/useExhaustiveDependencies: each read adds one sample
  useEffect(() => {
    setSamples((before) => withSamples(before, values, { at: readAt, limit: liveReading.reads }))
  }, [readAt])
  if (values.length === 0) return null
  return (
    <Card
      title={text.measured}
      actions={
        <>
          <span className="quiet">
            {isLive ? text.every(formats.number(liveReading.everyMs / 1_000)) : text.paused}
          </span>
          <IxButton key={String(isLive)} variant="secondary" onClick={() => onLive(!isLive)}>
            {isLive ? text.pause : text.resume}
          </IxButton>
        </>
      }
    >
      <ul className="measured">
        {values.map((property) => (
          <MeasuredValue key={property.path} property={property} samples={samples.get(property.path) ?? []} />
        ))}
      </ul>
    </Card>
  )
}

function MeasuredValue({ property, samples }: { property: LiveProperty; samples: readonly Sample[] }) {
  const text = useText(liveMessages)
  const formats = useFormats()
  const { name, unit, value, path } = property
  return (
    <li title={path}>
      <span className="quiet">{name}</span>
      <strong className="measured-value">
        {typeof value === 'number' ? formats.number(value) : value === true ? text.yes : text.no}
        {unit !== '' && <span className="measured-unit"> {unit}</span>}
      </strong>
      {typeof value === 'number' && <Trend samples={samples} unit={unit} />}
    </li>
  )
}
