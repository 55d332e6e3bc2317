import { useFormats, useText } from '../../app/language/language-context.tsx'
import { inboxMessages } from './messages.ts'

/**
 * `DayTime` shows a time of today with seconds, because several entries can have the same minute. It shows other times with
 * their day.
 */
export function DayTime({ at }: { at: string }) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const isToday = formats.date(at) === formats.date(new Date().toISOString())
  return (
    <time dateTime={at} title={formats.exact(at)}>
      {isToday ? text.todayAt(formats.time(at)) : formats.dateTime(at)}
    </time>
  )
}
