import { IxButton } from '@siemens/ix-react'
import { type ReactNode, useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { ProblemMessage } from '../feedback/problem-message.tsx'
import { componentMessages } from '../messages.ts'
import { Dialog } from './dialog.tsx'

type ConfirmDialogProps = {
  title: string
  /** The consequences of the action. */
  children?: ReactNode
  /** The verb on the button, never "OK". */
  action: string
  isDangerous?: boolean
  /** The dialog closes on success and shows an error. Resolves to `false` if input is missing. */
  onConfirm: () => Promise<unknown>
  /** The action has finished; only the close button is left. */
  isDone?: boolean
  onClose: () => void
}

/** `ConfirmDialog` asks before an action that is hard to undo. */
export function ConfirmDialog({
  title,
  children,
  action,
  isDangerous,
  onConfirm,
  isDone,
  onClose,
}: ConfirmDialogProps) {
  const text = useText(componentMessages)
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const confirm = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      if ((await onConfirm()) !== false) onClose()
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <IxButton variant="secondary" onClick={onClose}>
            {isDone ? text.close : text.cancel}
          </IxButton>
          {!isDone && (
            <IxButton variant={isDangerous ? 'danger-primary' : 'primary'} loading={isBusy} onClick={confirm}>
              {action}
            </IxButton>
          )}
        </>
      }
    >
      {children}
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </Dialog>
  )
}
