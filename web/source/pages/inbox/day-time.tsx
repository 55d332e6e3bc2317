import { useFormats, useText } from '../../app/language/language-context.tsx'
import { inboxMessages } from './messages.ts'

type DayTimeProps = { at: string; isShort?: boolean }

/**
 * `DayTime` shows a time of today with seconds, because several entries can have the same minute. It shows other times with
 * their day. A short time of today has no word for the day.
 */
export function DayTime({ at, isShort = false }: DayTimeProps) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const isToday = formats.date(at) === formats.date(new Date().toISOString())
  return (
    <time dateTime={at} title={formats.exact(at)}>
      {!isToday ? formats.dateTime(at) : isShort ? formats.time(at) : text.todayAt(formats.time(at))}
    </time>
  )
}
