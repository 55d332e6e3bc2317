import { IxButton } from '@siemens/ix-react'
import { type ReactNode, useState } from 'react'
import { ConfirmDialog } from './confirm-dialog.tsx'

type ConfirmButtonProps = {
  /** The verb, on the button and in the dialog. */
  action: string
  /** What is asked. */
  title: string
  /** What will happen. */
  children: ReactNode
  onConfirm: () => Promise<unknown>
  /** As a word in a line instead of a button. */
  isLink?: boolean
}

/** Does something that is not easily undone, after asking. */
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
        <IxButton variant="secondary" onClick={ask}>
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
