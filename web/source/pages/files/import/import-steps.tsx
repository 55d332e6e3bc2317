import { useText } from '../../../app/language/language-context.tsx'
import { StepBar } from '../../../components/page/step-bar.tsx'
import { fileMessages } from '../messages.ts'

const steps = ['stepFile', 'stepColumns', 'stepPreview', 'stepResult'] as const

/** `ImportSteps` shows the steps of an import, and which of them is the current one. */
export function ImportSteps({ current }: { current: (typeof steps)[number] }) {
  const text = useText(fileMessages)
  return <StepBar label={text.steps} steps={steps.map((id) => ({ id, title: text[id] }))} current={current} />
}
