import { IxButton } from '@siemens/ix-react'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { ProblemMessage } from '../feedback/problem-message.tsx'
import { componentMessages } from '../messages.ts'

type FormProps = {
  children: ReactNode
  /** The verb on the submit button. */
  action: string
  /** Closes the dialog that contains the form. The buttons are then placed as in other dialogs. */
  onCancel?: () => unknown
  /** Whether there is nothing to submit. */
  isDisabled?: boolean
  /** Additional buttons next to the submit button. */
  extraActions?: ReactNode
  /** Submits the form. The form shows an error that the promise rejects with. Returns `false` if input is missing. */
  onSubmit: () => Promise<unknown> | false
}

/** `Form` prevents a second submit while the first one is running, and shows errors below its fields. */
export function Form({ children, action, onCancel, isDisabled = false, extraActions, onSubmit }: FormProps) {
  const text = useText(componentMessages)
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (isBusy || isDisabled) return
    setFailure(undefined)
    const sending = onSubmit()
    if (sending === false) return
    setBusy(true)
    try {
      await sending
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form className="form" noValidate onSubmit={submit} aria-busy={isBusy}>
      {children}
      {failure !== undefined && <ProblemMessage failure={failure} />}
      <div className={onCancel === undefined ? 'form-actions' : 'form-actions form-actions-end'}>
        {onCancel !== undefined && (
          <IxButton variant="secondary" onClick={onCancel}>
            {text.cancel}
          </IxButton>
        )}
        {/* IxButton loses its submit behaviour when its text changes, so the key creates a new button for each text. */}
        <IxButton key={action} type="submit" loading={isBusy} disabled={isDisabled}>
          {action}
        </IxButton>
        {extraActions}
      </div>
    </form>
  )
}
