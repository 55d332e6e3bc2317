import { type DeviceState, deviceStates, type StateCounts } from '@millwright/api/updates.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { deviceTones } from './state-chips.tsx'
import { deviceStateNames } from './state-names.ts'

/** The order of the states in a bar: results first, then devices that are updated, then devices that wait. */
const barOrder: readonly DeviceState[] = [
  'succeeded',
  'failed',
  'unknown',
  'skipped',
  'canceled',
  'verifying',
  'activating',
  'prepared',
  'transferring',
  'downloading',
  'waiting',
]

/** `CountBar` shows the numbers of devices in each state as a bar, and below it as text. */
export function CountBar({ counts, label }: { counts: StateCounts; label: string }) {
  const formats = useFormats()
  const names = useText(deviceStateNames)
  const total = deviceStates.reduce((sum, state) => sum + counts[state], 0)
  const shown = barOrder.filter((state) => counts[state] > 0)
  const shares = shown.map((state) => (100 * counts[state]) / Math.max(1, total))
  return (
    <div className="count-bar">
      <svg className="count-bar-line" width="100%" height="10" aria-hidden="true">
        <rect className="bar-ground" width="100%" height="10" />
        {shown.map((state, index) => (
          <rect
            key={state}
            className="count-bar-part"
            data-tone={deviceTones[state]}
            x={`${shares.slice(0, index).reduce((sum, share) => sum + share, 0)}%`}
            width={`${shares[index] ?? 0}%`}
            height="10"
          />
        ))}
      </svg>
      <ul className="count-bar-names" aria-label={label}>
        {shown.map((state) => (
          <li key={state} data-tone={deviceTones[state]}>
            {names[state]} <strong>{formats.number(counts[state])}</strong>
          </li>
        ))}
      </ul>
    </div>
  )
}
