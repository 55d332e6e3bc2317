type StepBarProps<Step extends string> = {
  /** The accessible name of the list. */
  label: string
  steps: readonly { id: Step; title: string }[]
  current: Step
}

/** `StepBar` shows the steps of a task, and which of them is the current one. */
export function StepBar<Step extends string>({ label, steps, current }: StepBarProps<Step>) {
  const position = steps.findIndex(({ id }) => id === current)
  return (
    <ol className="step-bar" aria-label={label}>
      {steps.map(({ id, title }, index) => (
        <li key={id} data-done={index < position} {...(id === current && { 'aria-current': 'step' })}>
          <span className="step-number" aria-hidden="true">
            {index + 1}
          </span>
          {title}
        </li>
      ))}
    </ol>
  )
}
