import { isExceptionalShare } from '../../../components/values/outdated-share.ts'

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
