import { IxButton } from '@siemens/ix-react'
import { useText } from '../../app/language-context.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { StatusChip } from '../../components/status-chip.tsx'
import { accessMessages } from './messages.ts'

export function ActiveState({ isDisabled }: { isDisabled: boolean }) {
  const text = useText(accessMessages)
  return <StatusChip tone={isDisabled ? 'warning' : 'good'}>{isDisabled ? text.disabled : text.active}</StatusChip>
}

type Given = {
  name: string
  isDisabled: boolean
  onDisable: (isDisabled: boolean) => Promise<unknown>
  onRemove: () => Promise<unknown>
}

/** What can be done with a person and with a program alike. */
export function PrincipalActions({ name, isDisabled, onDisable, onRemove }: Given) {
  const text = useText(accessMessages)
  return (
    <>
      <ConfirmButton action={text.remove} title={text.removeTitle(name)} onConfirm={onRemove}>
        {text.removePrincipal}
      </ConfirmButton>
      {isDisabled ? (
        <IxButton variant="secondary" onClick={() => onDisable(false)}>
          {text.enable}
        </IxButton>
      ) : (
        <ConfirmButton action={text.disable} title={text.disableTitle(name)} onConfirm={() => onDisable(true)}>
          {text.disableDetail}
        </ConfirmButton>
      )}
    </>
  )
}
