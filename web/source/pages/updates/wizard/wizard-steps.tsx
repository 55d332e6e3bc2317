import { useText } from '../../../app/language/language-context.tsx'
import { StepBar } from '../../../components/page/step-bar.tsx'
import { wizardMessages } from './messages.ts'

export type WizardStep = 'artefact' | 'targets' | 'rollout' | 'plan'

/** `WizardSteps` shows the steps of a new campaign, and which of them is the current one. */
export function WizardSteps({ current }: { current: WizardStep }) {
  const text = useText(wizardMessages)
  const steps = [
    { id: 'artefact', title: text.stepArtefact },
    { id: 'targets', title: text.stepTargets },
    { id: 'rollout', title: text.stepRollout },
    { id: 'plan', title: text.stepPlan },
  ] as const
  return <StepBar label={text.steps} steps={steps} current={current} />
}
