import { useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { CheckField } from '../../../components/forms/fields.tsx'
import { inboxMessages } from '../messages.ts'
import type { DecisionRequest } from './decide.ts'
import { type Target, TargetFields } from './target-fields.tsx'

type OnboardDialogProps = {
  ids: readonly string[]
  /** Whether the onboarding rules propose targets for assets of the inbox. */
  hasProposals: boolean
  lastTarget: Target
  onOnboard: (request: DecisionRequest) => Promise<unknown>
  onClose: () => void
}

/** `OnboardDialog` onboards assets into an access group and a hierarchy node. At first, they are those of the last onboarding. */
export function OnboardDialog({ ids, hasProposals, lastTarget, onOnboard, onClose }: OnboardDialogProps) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const [target, setTarget] = useState(lastTarget)
  const [useProposals, setUseProposals] = useState(false)
  const confirm = () =>
    onOnboard({
      action: 'onboard',
      assetIds: [...ids],
      ...(target.accessGroupId !== '' && { accessGroupId: target.accessGroupId }),
      ...(target.nodeId !== '' && { nodeId: target.nodeId }),
      ...(useProposals && { useProposals }),
    })
  return (
    <ConfirmDialog
      title={text.onboardTitle(ids.length, formats.number(ids.length))}
      action={text.onboard}
      onConfirm={confirm}
      onClose={onClose}
    >
      <div className="form">
        <p>{text.onboardText}</p>
        <TargetFields target={target} onChange={setTarget} />
        {hasProposals && (
          <CheckField
            label={text.preferProposals}
            hint={text.preferProposalsHint}
            isChecked={useProposals}
            onChange={setUseProposals}
          />
        )}
      </div>
    </ConfirmDialog>
  )
}
