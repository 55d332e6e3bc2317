import { IxButton } from '@siemens/ix-react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
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
  const said = fates === undefined ? [] : fatesIn(fates, text)
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

type Text = (typeof topologyMessages)['en']

/** How many things and relations came, went and changed. */
function fatesIn(fates: ReadonlyMap<string, Fate>, text: Text): string[] {
  const words = { added: text.came, removed: text.went, changed: text.changed }
  return (['added', 'removed', 'changed'] as const).flatMap((fate) => {
    const keys = [...fates].filter(([, each]) => each === fate).map(([key]) => key)
    const things = keys.filter((key) => key.includes('/')).length
    const relations = keys.length - things
    const what = [things > 0 && text.things(things), relations > 0 && text.countRelations(relations)].filter(Boolean)
    return what.length === 0 ? [] : [words[fate](what.join(` ${text.and} `))]
  })
}
