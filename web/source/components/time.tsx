import { useFormats, useText } from '../app/language-context.tsx'
import { componentMessages } from './messages.ts'

type Given = { at: string | null | undefined; isRelative?: boolean; isDate?: boolean }

/** A moment as people write it; the exact one on hovering. */
export function Time({ at, isRelative, isDate }: Given) {
  const text = useText(componentMessages)
  const formats = useFormats()
  if (at === null || at === undefined) return <span className="quiet">{text.never}</span>
  const shown = isRelative ? formats.relative(at) : isDate ? formats.date(at) : formats.dateTime(at)
  return (
    <time dateTime={at} title={isRelative ? formats.dateTime(at) : at}>
      {shown}
    </time>
  )
}
