import { IxButton, showToast } from '@siemens/ix-react'
import { announce } from './announcement.ts'

/** How long the undo button is shown. The time is long enough to reach the button with the keyboard. */
const shownMs = 20_000

/** Closes the toast that is shown. Only the last action has a button, so that toasts do not cover the page. */
let closeShown = () => {}

/** Closes the toast with the undo button, because its action can no longer be undone. */
export function closeUndo(): void {
  closeShown()
}

/** Shows a success message with a button that reverts the action. */
export async function showUndo(message: string, label: string, undo: () => unknown): Promise<void> {
  announce(message)
  closeShown()
  const action = (
    <IxButton
      variant="secondary"
      onClick={() => {
        toast.close()
        undo()
      }}
    >
      {label}
    </IxButton>
  )
  const toast = await showToast({ message, action, type: 'success', hideIcon: true, autoCloseDelay: shownMs })
  closeShown = () => toast.close()
}
