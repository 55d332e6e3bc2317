import { IxButton } from '@siemens/ix-react'
import { useFormats, useText } from '../../app/language-context.tsx'
import type { Fate } from '../../components/graph/graph-data.ts'
import { topologyMessages } from './messages.ts'
import type { Asked } from './topology-data.ts'

type Given = {
  asked: Asked
  fates: ReadonlyMap<string, Fate> | undefined
  change: (changed: { at: undefined; with: undefined }) => void
}

/** Says that what is shown is not now, and what came and went. */
export function TimeNotice({ asked: { at, with: other }, fates, change }: Given) {
  const text = useText(topologyMessages)
  const formats = useFormats()
  if (at === undefined && other === undefined) return null
  const told = (time: string | undefined) => (time === undefined ? text.nowWord : formats.dateTime(time))
  const [earlier, later] = at === undefined || (other ?? '') < at ? [other, at] : [at, other]
  const counts = { added: 0, removed: 0, changed: 0 }
  for (const fate of fates?.values() ?? []) counts[fate]++
  const said = [
    counts.added > 0 && text.came(formats.number(counts.added)),
    counts.removed > 0 && text.went(formats.number(counts.removed)),
    counts.changed > 0 && text.changed(formats.number(counts.changed)),
  ].filter(Boolean)
  return (
    <p className="page-note page-past" role="status">
      {other === undefined ? text.past(told(at)) : text.differences(told(earlier), told(later))}
      {fates !== undefined && <strong>{said.length === 0 ? text.nothingChanged : said.join(', ')}</strong>}
      <IxButton variant="tertiary" onClick={() => change({ at: undefined, with: undefined })}>
        {text.now}
      </IxButton>
    </p>
  )
}
