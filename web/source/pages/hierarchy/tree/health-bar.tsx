import type { NodeHealth } from '@millwright/api/hierarchy.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { hierarchyMessages } from '../messages.ts'

const states = ['online', 'offline', 'unknown'] as const

type HealthBarProps = {
  health: NodeHealth
  /** The tooltip of the bar. */
  title?: string
}

/**
 * `HealthBar` shows the shares of assets with each reachability state as a bar. The text next to the bar contains the
 * numbers.
 */
export function HealthBar({ health, title }: HealthBarProps) {
  const total = states.reduce((sum, state) => sum + health[state], 0)
  if (total === 0) return <span className="health-bar" aria-hidden="true" />
  const shares = states.map((state) => (100 * health[state]) / total)
  return (
    <span className="health-bar" title={title}>
      <svg width="100%" height="6" aria-hidden="true">
        {states.map((state, index) => (
          <rect
            key={state}
            className={`health-${state}`}
            x={`${shares.slice(0, index).reduce((sum, share) => sum + share, 0)}%`}
            width={`${shares[index] ?? 0}%`}
            height="6"
          />
        ))}
      </svg>
    </span>
  )
}

/** `HealthLegend` explains the numbers and the bars in the tree. */
export function HealthLegend() {
  const text = useText(hierarchyMessages)
  return (
    <div className="tree-legend">
      <p>{text.countHint}</p>
      <ul>
        {states.map((state) => (
          <li key={state}>
            <svg width="10" height="6" aria-hidden="true">
              <rect className={`health-${state}`} width="10" height="6" rx="2" />
            </svg>
            {text[state]}
          </li>
        ))}
      </ul>
    </div>
  )
}
