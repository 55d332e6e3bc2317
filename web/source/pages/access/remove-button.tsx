import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useText } from '../../app/language-context.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { accessMessages } from './messages.ts'

export function RemoveButton(given: { name: string; detail: string; onRemove: () => Promise<unknown> }) {
  const text = useText(accessMessages)
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <IxButton variant="secondary" onClick={() => setAsking(true)}>
        {text.remove}
      </IxButton>
      {isAsking && (
        <ConfirmDialog
          title={text.removeTitle(given.name)}
          action={text.remove}
          isDangerous
          onConfirm={given.onRemove}
          onClose={() => setAsking(false)}
        >
          <p>{given.detail}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
