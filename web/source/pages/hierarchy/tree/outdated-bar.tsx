import { useText } from '../../../app/language/language-context.tsx'
import { hierarchyMessages } from '../messages.ts'

const kinds = ['outdated', 'others'] as const

/** `OutdatedBar` shows the share of assets with outdated firmware. The text next to the bar contains the number. */
export function OutdatedBar({ outdated, assets }: { outdated: number; assets: number }) {
  return (
    <span className="outdated-bar">
      <svg width="100%" height="6" aria-hidden="true">
        <rect className="bar-others" width="100%" height="6" />
        <rect className="bar-outdated" width={`${(100 * outdated) / Math.max(1, assets)}%`} height="6" />
      </svg>
    </span>
  )
}

/** `TreeLegend` explains the numbers and the bars in the tree. */
export function TreeLegend() {
  const text = useText(hierarchyMessages)
  return (
    <div className="tree-legend">
      <p>{text.countHint}</p>
      <ul>
        {kinds.map((kind) => (
          <li key={kind}>
            <svg width="10" height="6" aria-hidden="true">
              <rect className={`bar-${kind}`} width="10" height="6" rx="2" />
            </svg>
            {text[kind]}
          </li>
        ))}
        <li className="tree-alarm">{text.offlineBelow}</li>
      </ul>
    </div>
  )
}
