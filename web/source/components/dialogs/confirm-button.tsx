import { IxButton } from '@siemens/ix-react'
import { type ReactNode, useState } from 'react'
import { ConfirmDialog } from './confirm-dialog.tsx'

type Given = {
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
export function ConfirmButton({ action, title, children, onConfirm, isLink }: Given) {
  const [isAsking, setAsking] = useState(false)
  const ask = () => setAsking(true)
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
      {isAsking && (
        <ConfirmDialog title={title} action={action} isDangerous onConfirm={onConfirm} onClose={() => setAsking(false)}>
          <p>{children}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
