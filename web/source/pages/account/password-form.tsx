import { useState } from 'react'
import { isFailure } from '../../app/api/failure.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useVisit } from '../../app/session/user-context.tsx'
import { toldDone } from '../../components/feedback/toast.ts'
import { CheckField, TextField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import { accountMessages } from './messages.ts'

type Complaints = { current?: string; next?: string }

/** Changes one's own password, which ends one's sessions elsewhere. */
export function PasswordForm() {
  const text = useText(accountMessages)
  const { api, person } = useVisit()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [isShown, setShown] = useState(false)
  const [complaints, setComplaints] = useState<Complaints>({})
  const send = async () => {
    const body = { data: { currentPassword: current, newPassword: next } }
    try {
      await api.identity.changePassword({ body })
    } catch (error) {
      if (isFailure(error, 'wrong_password')) return setComplaints({ current: `${error.message}.` })
      if (isFailure(error, 'weak_password')) return setComplaints({ next: `${error.message}.` })
      throw error
    }
    setCurrent('')
    setNext('')
    toldDone(text.changed)
  }
  const submit = () => {
    const missing: Complaints = {
      ...(current === '' && { current: text.enterCurrent }),
      ...(next === '' && { next: text.enterNext }),
    }
    setComplaints(missing)
    return Object.keys(missing).length > 0 ? false : send()
  }
  const type = isShown ? 'text' : 'password'
  return (
    <Form action={text.changePassword} onSubmit={submit}>
      {/* Password managers look for the name beside a password. */}
      <input
        className="unseen"
        type="text"
        autoComplete="username"
        value={person.preferred_username}
        readOnly
        tabIndex={-1}
        aria-hidden="true"
      />
      <TextField
        label={text.current}
        type={type}
        autoComplete="current-password"
        maxLength={256}
        value={current}
        onChange={setCurrent}
        error={complaints.current}
        isRequired
      />
      <TextField
        label={text.next}
        type={type}
        autoComplete="new-password"
        maxLength={256}
        hint={text.nextHint}
        value={next}
        onChange={setNext}
        error={complaints.next}
        isRequired
      />
      <CheckField label={text.show} isChecked={isShown} onChange={setShown} />
    </Form>
  )
}
