import { IxButton } from '@siemens/ix-react'
import { lazy, Suspense, useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import type { CredentialStart } from './credential-start.ts'
import { flowMessages } from './flow-messages.ts'

const CredentialFlow = lazy(async () => ({ default: (await import('./credential-flow.tsx')).CredentialFlow }))

type AddCredentialsDialogProps = {
  start: CredentialStart
  onClose: () => unknown
  /** Is called when the user ends the flow after the credentials were stored. */
  onDone?: (() => unknown) | undefined
}

/** `AddCredentialsDialog` loads the flow for new credentials, and starts it with the data of a protected device. */
export function AddCredentialsDialog(props: AddCredentialsDialogProps) {
  return (
    <Suspense>
      <CredentialFlow {...props} />
    </Suspense>
  )
}

type AddCredentialsButtonProps = Pick<AddCredentialsDialogProps, 'start' | 'onDone'> & {
  variant?: 'primary' | 'secondary'
}

/** `AddCredentialsButton` opens the flow for new credentials. It is hidden from users who cannot add credentials. */
export function AddCredentialsButton({ start, variant = 'secondary', onDone }: AddCredentialsButtonProps) {
  const text = useText(flowMessages)
  const canWrite = usePermission('glb_credential_write')
  const [isOpen, setOpen] = useState(false)
  if (!canWrite) return null
  return (
    <>
      <IxButton variant={variant} onClick={() => setOpen(true)}>
        {text.add}
      </IxButton>
      {isOpen && <AddCredentialsDialog start={start} onClose={() => setOpen(false)} onDone={onDone} />}
    </>
  )
}
