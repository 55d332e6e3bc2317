import { IxButton } from '@siemens/ix-react'
import { type FormEvent, type ReactNode, useState } from 'react'
import { ProblemMessage } from '../feedback/problem-message.tsx'

type FormProps = {
  children: ReactNode
  /** The verb on the button. */
  action: string
  /** Beside the button. */
  extraActions?: ReactNode
  /** Throws what goes wrong; the form tells it. Return `false` to say that something is still missing. */
  onSubmit: () => Promise<unknown> | false
}

/** A form that is sent once at a time and tells what went wrong below its fields. */
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
        {/* The button keeps what submits beside its text: another text in its place would throw that away. */}
        <IxButton key={action} type="submit" loading={isBusy}>
          {action}
        </IxButton>
        {extraActions}
      </div>
    </form>
  )
}
