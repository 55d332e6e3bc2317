import { IxButton } from '@siemens/ix-react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import type { ChangeKind } from '../../components/graph/graph-data.ts'
import { topologyMessages } from './messages.ts'
import type { TopologyQuery } from './topology-data.ts'

type TimeNoticeProps = {
  query: TopologyQuery
  changes: ReadonlyMap<string, ChangeKind> | undefined
  change: (changed: { at: undefined; with: undefined }) => void
}

/** `TimeNotice` shows the displayed point in time and, for a comparison, a summary of the changes. */
export function TimeNotice({ query: { at, with: other }, changes, change }: TimeNoticeProps) {
  const text = useText(topologyMessages)
  const formats = useFormats()
  if (at === undefined && other === undefined) return null
  const timeText = (time: string | undefined) => (time === undefined ? text.nowWord : formats.dateTime(time))
  const [earlier, later] = at === undefined || (other ?? '') < at ? [other, at] : [at, other]
  const summary = changes === undefined ? [] : summaryOf(changes, text)
  return (
    <p className="page-note page-past" role="status">
      {other === undefined ? text.past(timeText(at)) : text.differences(timeText(earlier), timeText(later))}
      {changes !== undefined && <strong>{summary.length === 0 ? text.noChanges : summary.join(', ')}</strong>}
      <IxButton variant="tertiary" onClick={() => change({ at: undefined, with: undefined })}>
        {text.backToNow}
      </IxButton>
    </p>
  )
}

type Text = (typeof topologyMessages)['en']

/** Returns the numbers of added, removed and changed nodes and relations as texts. */
function summaryOf(changes: ReadonlyMap<string, ChangeKind>, text: Text): string[] {
  const words = { added: text.added, removed: text.removed, changed: text.changed }
  return (['added', 'removed', 'changed'] as const).flatMap((fate) => {
    const keys = [...changes].filter(([, each]) => each === fate).map(([key]) => key)
    const nodes = keys.filter((key) => key.includes('/')).length
    const relations = keys.length - nodes
    const what = [nodes > 0 && text.nodes(nodes), relations > 0 && text.countRelations(relations)].filter(Boolean)
    return what.length === 0 ? [] : [words[fate](what.join(` ${text.and} `))]
  })
}
