import { useFormats } from '../../../app/language/language-context.tsx'
import { browserTimeZone } from './schedule.ts'

type ZonedTimeProps = {
  at: string
  zone: string
  /** Whether to leave out the name of the time zone, which the page shows elsewhere. */
  isShort?: boolean
}

/** `ZonedTime` shows a time in the time zone of a schedule and, if it is another one, in the time zone of the browser. */
export function ZonedTime({ at, zone, isShort = false }: ZonedTimeProps) {
  const formats = useFormats()
  const ownZone = browserTimeZone()
  const [shown, own] = [formats.dateTimeIn(at, zone), formats.dateTimeIn(at, ownZone)]
  const isSameDay = own.startsWith(formats.date(at)) && shown.startsWith(formats.date(at))
  return (
    <time dateTime={at} title={at}>
      {isShort ? shown : `${shown} ${zone}`}
      {shown !== own && <span className="quiet">{` (${isSameDay ? formats.shortTime(at) : own} ${ownZone})`}</span>}
    </time>
  )
}
