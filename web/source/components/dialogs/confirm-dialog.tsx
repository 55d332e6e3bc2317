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
  /** The verb on the button that runs the action. Do not use "OK". */
  action: string
  isDangerous?: boolean
  /** Whether the action is not possible, because input is missing or invalid. */
  isDisabled?: boolean
  /**
   * Runs the action. The dialog closes when the action succeeds, and shows a thrown error. If the promise resolves to
   * `false`, input is missing and the dialog stays open.
   */
  onConfirm: () => Promise<unknown>
  /** Whether the action has finished. The dialog then shows only the close button. */
  isDone?: boolean
  onClose: () => void
}

/** `ConfirmDialog` asks the user for confirmation before an action that is hard to undo. */
export function ConfirmDialog({
  title,
  children,
  action,
  isDangerous,
  isDisabled = false,
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
            <IxButton
              variant={isDangerous ? 'danger-primary' : 'primary'}
              loading={isBusy}
              disabled={isDisabled}
              onClick={confirm}
            >
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
