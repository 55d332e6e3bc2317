import { useSyncExternalStore } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'

type TimeProps = {
  at: string | null | undefined
  isRelative?: boolean
  /** Whether to show a relative time with short units, for narrow columns. */
  isShort?: boolean
  isDate?: boolean
  /** Whether to leave out the date of today and the year of this year, for narrow columns. The tooltip contains them. */
  isCompact?: boolean
  /** Whether to show seconds. Lists of events show them. */
  isExact?: boolean
  /** Whether to show only the time of day, for lists that have the date elsewhere. */
  isTimeOfDay?: boolean
}

/** `Time` shows a timestamp in the language of the user. The tooltip contains the exact value. */
export function Time({ at, isRelative, isShort, isDate, isCompact, isExact, isTimeOfDay }: TimeProps) {
  const text = useText(componentMessages)
  const formats = useFormats()
  if (at === null || at === undefined) return <span className="quiet">{text.never}</span>
  if (isRelative) return <Ago at={at} isShort={isShort} />
  if (isCompact) return <Compact at={at} />
  const format = isDate ? formats.date : isTimeOfDay ? formats.time : isExact ? formats.exact : formats.dateTime
  return (
    <time dateTime={at} title={at}>
      {format(at)}
    </time>
  )
}

const renewEveryMs = 10_000

/** The functions that update the relative times on the page. All of them share one timer. */
const watchers = new Set<() => void>()
let ticks = 0
let timer: ReturnType<typeof setInterval> | undefined

function watch(onTick: () => void): () => void {
  watchers.add(onTick)
  timer ??= setInterval(() => {
    ticks += 1
    for (const watcher of watchers) watcher()
  }, renewEveryMs)
  return () => {
    watchers.delete(onTick)
    if (watchers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** `Compact` shows a time without the date of today. The date appears after midnight. */
function Compact({ at }: { at: string }) {
  const formats = useFormats()
  useSyncExternalStore(watch, () => new Date().getDate())
  return (
    <time dateTime={at} title={formats.exact(at)}>
      {formats.compact(at)}
    </time>
  )
}

/** `Elapsed` shows the time since a timestamp as a duration, and updates it periodically. */
export function Elapsed({ since }: { since: string }) {
  const formats = useFormats()
  useSyncExternalStore(watch, () => ticks)
  return <span title={formats.exact(since)}>{formats.duration(Date.now() - Date.parse(since))}</span>
}

/** `Ago` shows a time relative to now, and updates it periodically. */
function Ago({ at, isShort }: { at: string; isShort: boolean | undefined }) {
  const formats = useFormats()
  useSyncExternalStore(watch, () => ticks)
  return (
    <time dateTime={at} title={formats.exact(at)}>
      {isShort ? formats.shortRelative(at) : formats.relative(at)}
    </time>
  )
}
