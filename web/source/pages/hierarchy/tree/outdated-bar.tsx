import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { exceptionalPercentage, isExceptionalShare } from '../../../components/values/outdated-share.ts'
import { hierarchyMessages } from '../messages.ts'

type OutdatedBarProps = {
  outdated: number
  assets: number
  /** The share of all assets that are outdated. A share that is clearly above it has another colour. */
  average: number | undefined
}

/** `OutdatedBar` shows the share of assets with outdated firmware. The text next to the bar contains the number. */
export function OutdatedBar({ outdated, assets, average }: OutdatedBarProps) {
  const share = outdated / Math.max(1, assets)
  return (
    <span className="outdated-bar">
      <svg width="100%" height="6" aria-hidden="true">
        <rect className="bar-others" width="100%" height="6" />
        <rect
          className={isExceptionalShare(share, average) ? 'bar-exceptional' : 'bar-outdated'}
          width={`${100 * share}%`}
          height="6"
        />
      </svg>
    </span>
  )
}

type OutdatedShareProps = OutdatedBarProps & { label: string }

/** `OutdatedShare` shows in a row of the tree which share of the assets has outdated firmware. A share above average is marked. */
export function OutdatedShare({ outdated, assets, average, label }: OutdatedShareProps) {
  const formats = useFormats()
  const share = outdated / Math.max(1, assets)
  return (
    <span className="tree-share" data-exceptional={isExceptionalShare(share, average) || undefined} title={label}>
      {formats.percent(share)}
    </span>
  )
}

/** `TreeHead` names the columns of the tree. Screen readers read the names with the numbers. */
export function TreeHead() {
  const text = useText(hierarchyMessages)
  return (
    <div className="tree-head" aria-hidden="true">
      <span>{text.assets}</span>
      <span>{text.outdatedShort}</span>
    </div>
  )
}

/** `TreeLegend` explains the numbers and the signs in the tree. */
export function TreeLegend({ average }: { average: number | undefined }) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  return (
    <div
      className="tree-legend"
      title={[text.countHint, average !== undefined && text.averageHint(formats.percent(average))]
        .filter(Boolean)
        .join(' ')}
    >
      <ul>
        {average !== undefined && (
          <li>
            <span className="tree-share" data-exceptional="true">
              {`≥ ${formats.percent(exceptionalPercentage(average) / 100)}`}
            </span>
            {text.exceptional}
          </li>
        )}
        <li className="tree-alarm">{text.unreachableShort}</li>
        <li className="tree-stop">{text.stoppedShort}</li>
        <li className="tree-stop tree-stop-known">{text.lastStoppedLegend}</li>
      </ul>
    </div>
  )
}
