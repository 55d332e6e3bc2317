import { IxButton } from '@siemens/ix-react'
import { type ReactNode, useState } from 'react'
import { ConfirmDialog } from './confirm-dialog.tsx'

type ConfirmButtonProps = {
  /** The verb on the button and in the dialog. */
  action: string
  /** The question in the dialog. */
  title: string
  /** The consequences of the action. */
  children: ReactNode
  onConfirm: () => Promise<unknown>
  /** Whether the button looks like a text link. */
  isLink?: boolean
}

/** `ConfirmButton` is a button that opens a confirmation dialog. The action runs after the user has confirmed it. */
export function ConfirmButton({ action, title, children, onConfirm, isLink }: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const ask = () => setOpen(true)
  return (
    <>
      {isLink ? (
        <button type="button" className="link-button" onClick={ask}>
          {action}
        </button>
      ) : (
        <IxButton variant="danger-secondary" onClick={ask}>
          {action}
        </IxButton>
      )}
      {isOpen && (
        <ConfirmDialog title={title} action={action} isDangerous onConfirm={onConfirm} onClose={() => setOpen(false)}>
          <p>{children}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
