import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { assetsMessages } from '../messages.ts'
import type { ChangeGroup, CurrentValue } from './bulk-values.ts'

type BulkPreviewProps = {
  /** The current values, or undefined while they are loading. */
  values: readonly CurrentValue[] | undefined
  failure: unknown
  groups: readonly ChangeGroup[]
  /** The new value, or undefined while it is not entered. */
  target: string | undefined
  labelOf: (value: string | undefined) => string
}

/** The maximum number of current values, and of asset names for each of them. */
const maxGroups = 5
const maxNames = 3

/** `BulkPreview` shows which assets a bulk edit changes, by their current value. */
export function BulkPreview({ values, failure, groups, target, labelOf }: BulkPreviewProps) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  if (failure !== undefined) return <ProblemMessage failure={failure} />
  if (values === undefined) return <Loading />
  if (target === undefined) return <p className="field-hint">{text.previewHint}</p>
  const changed = groups.reduce((sum, { assets }) => sum + assets.length, 0)
  const same = values.length - changed
  const rest = groups.slice(maxGroups).reduce((sum, { assets }) => sum + assets.length, 0)
  return (
    <section className="bulk-preview" aria-label={text.preview}>
      <h3>{text.preview}</h3>
      <p role="status">
        {changed === 0
          ? text.nothingChanges
          : text.previewCount(formats.number(changed), formats.number(values.length))}
        {changed > 0 && same > 0 && ` ${text.previewSame(same, formats.number(same))}`}
      </p>
      <ul>
        {groups.slice(0, maxGroups).map(({ before, assets }) => (
          <li key={before ?? ''}>
            <span className="bulk-change">
              {labelOf(before)} → <strong>{target}</strong>
            </span>
            <span className="bulk-count">{text.assetCount(assets.length, formats.number(assets.length))}</span>
            <span className="quiet bulk-names">
              {assets
                .slice(0, maxNames)
                .map(({ name }) => name)
                .join(', ')}
              {assets.length > maxNames && ' …'}
            </span>
          </li>
        ))}
        {rest > 0 && <li className="quiet">{text.otherValues(formats.number(rest))}</li>}
      </ul>
    </section>
  )
}
