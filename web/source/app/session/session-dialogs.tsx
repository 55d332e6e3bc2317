import { StepUpDialog } from '../step-up/step-up-dialog.tsx'
import { IdleSignOut } from './idle-sign-out.tsx'

/** `SessionDialogs` contains the dialogs that can open on every page: step-up and the warning before the sign-out. */
export function SessionDialogs() {
  return (
    <>
      <StepUpDialog />
      <IdleSignOut />
    </>
  )
}
