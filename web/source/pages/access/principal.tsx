import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useText } from '../../app/language-context.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
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
  const [asking, setAsking] = useState<'disable' | 'remove'>()
  const close = () => setAsking(undefined)
  return (
    <>
      <IxButton variant="secondary" onClick={() => setAsking('remove')}>
        {text.remove}
      </IxButton>
      {isDisabled ? (
        <IxButton variant="secondary" onClick={() => onDisable(false)}>
          {text.enable}
        </IxButton>
      ) : (
        <IxButton variant="secondary" onClick={() => setAsking('disable')}>
          {text.disable}
        </IxButton>
      )}
      {asking === 'disable' && (
        <ConfirmDialog
          title={text.disableTitle(name)}
          action={text.disable}
          isDangerous
          onConfirm={() => onDisable(true)}
          onClose={close}
        >
          <p>{text.disableDetail}</p>
        </ConfirmDialog>
      )}
      {asking === 'remove' && (
        <ConfirmDialog
          title={text.removeTitle(name)}
          action={text.remove}
          isDangerous
          onConfirm={onRemove}
          onClose={close}
        >
          <p>{text.removePrincipal}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
