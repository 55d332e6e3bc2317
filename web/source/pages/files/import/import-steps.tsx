import { useText } from '../../../app/language/language-context.tsx'
import { fileMessages } from '../messages.ts'
import '../files.css'

const steps = ['stepFile', 'stepColumns', 'stepPreview', 'stepResult'] as const

/** `ImportSteps` shows the steps of an import, and which of them is the current one. */
export function ImportSteps({ current }: { current: (typeof steps)[number] }) {
  const text = useText(fileMessages)
  const position = steps.indexOf(current)
  return (
    <ol className="import-steps" aria-label={text.steps}>
      {steps.map((step, index) => (
        <li key={step} data-done={index < position} {...(step === current && { 'aria-current': 'step' })}>
          <span className="import-step-number" aria-hidden="true">
            {index + 1}
          </span>
          {text[step]}
        </li>
      ))}
    </ol>
  )
}
