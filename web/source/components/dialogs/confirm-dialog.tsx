import { IxButton } from '@siemens/ix-react'
import { type ReactNode, useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { ProblemMessage } from '../feedback/problem-message.tsx'
import { componentMessages } from '../messages.ts'
import { Dialog } from './dialog.tsx'

type ConfirmDialogProps = {
  title: string
  /** What will happen. */
  children?: ReactNode
  /** The verb on the button: never just "OK". */
  action: string
  isDangerous?: boolean
  /** Closes the dialog when it succeeds; what goes wrong is told in it. Resolves to `false` when something is missing. */
  onConfirm: () => Promise<unknown>
  /** It is done, and what came of it is told: the only way is out. */
  isDone?: boolean
  onClose: () => void
}

/** Asks before something that is not easily undone. */
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
