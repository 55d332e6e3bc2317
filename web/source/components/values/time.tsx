import { useSyncExternalStore } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'

type TimeProps = {
  at: string | null | undefined
  isRelative?: boolean
  isDate?: boolean
  /** To the second, for lists of what happened. */
  isExact?: boolean
}

/** A moment as people write it; the exact one on hovering. */
export function Time({ at, isRelative, isDate, isExact }: TimeProps) {
  const text = useText(componentMessages)
  const formats = useFormats()
  if (at === null || at === undefined) return <span className="quiet">{text.never}</span>
  if (isRelative) return <Ago at={at} />
  const shown = isDate ? formats.date(at) : isExact ? formats.exact(at) : formats.dateTime(at)
  return (
    <time dateTime={at} title={at}>
      {shown}
    </time>
  )
}

const renewEveryMs = 10_000

/** One clock for all that is shown: a table has hundreds of them. */
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

/** How long ago it is, which changes while one looks at it. */
function Ago({ at }: { at: string }) {
  const formats = useFormats()
  useSyncExternalStore(watch, () => ticks)
  return (
    <time dateTime={at} title={formats.exact(at)}>
      {formats.relative(at)}
    </time>
  )
}
