import { IxButton } from '@siemens/ix-react'
import { type FormEvent, type ReactNode, useState } from 'react'
import { ProblemMessage } from '../feedback/problem-message.tsx'

type FormProps = {
  children: ReactNode
  /** The verb on the submit button. */
  action: string
  /** Additional buttons next to the submit button. */
  extraActions?: ReactNode
  /** Submits the form. The form shows an error that the promise rejects with. Returns `false` if input is missing. */
  onSubmit: () => Promise<unknown> | false
}

/** `Form` prevents a second submit while the first one is running, and shows errors below its fields. */
export function Form({ children, action, extraActions, onSubmit }: FormProps) {
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (isBusy) return
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
      <div className="form-actions">
        {/* IxButton loses its submit behaviour when its text changes, so the key creates a new button for each text. */}
        <IxButton key={action} type="submit" loading={isBusy}>
          {action}
        </IxButton>
        {extraActions}
      </div>
    </form>
  )
}
