import { useId } from 'react'
import type { Choice } from './fields.tsx'

type ViewSwitchProps<Value extends string> = {
  label: string
  choices: readonly (Choice<Value> & {
    /** The meaning of the view, which the tooltip shows. */
    hint?: string
  })[]
  chosen: Value
  onChoose: (value: Value) => void
}

/** `ViewSwitch` selects one of a few views within a tab. Arrow keys move between the views. */
export function ViewSwitch<Value extends string>({ label, choices, chosen, onChoose }: ViewSwitchProps<Value>) {
  const name = useId()
  return (
    <fieldset className="switch">
      <legend className="unseen">{label}</legend>
      {choices.map((choice) => (
        <label key={choice.value} title={choice.hint}>
          <input
            type="radio"
            name={name}
            value={choice.value}
            checked={choice.value === chosen}
            onChange={() => onChoose(choice.value)}
          />
          {choice.label}
        </label>
      ))}
    </fieldset>
  )
}
