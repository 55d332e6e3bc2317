import { useId } from 'react'
import type { Choice } from './fields.tsx'

type ViewSwitchProps<Value extends string> = {
  label: string
  choices: readonly Choice<Value>[]
  chosen: Value
  onChoose: (value: Value) => void
}

/** One of a few ways to look at the same place, within a tab: arrow keys move between them. */
export function ViewSwitch<Value extends string>({ label, choices, chosen, onChoose }: ViewSwitchProps<Value>) {
  const name = useId()
  return (
    <fieldset className="switch">
      <legend className="unseen">{label}</legend>
      {choices.map((choice) => (
        <label key={choice.value}>
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
