import { useState } from 'react'
import { isFailure } from '../../app/api/failure.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useAppContext } from '../../app/session/app-context.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { CheckField, TextField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import { accountMessages } from './messages.ts'

type FieldErrors = { current?: string; next?: string }

/** `PasswordForm` changes the password of the signed-in user. The change ends all other sessions of this user. */
export function PasswordForm() {
  const text = useText(accountMessages)
  const { api, user } = useAppContext()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [isShown, setShown] = useState(false)
  const [fieldErrors, setFieldErrors] = useState<FieldErrors>({})
  const send = async () => {
    const body = { data: { currentPassword: current, newPassword: next } }
    try {
      await api.identity.changePassword({ body })
    } catch (error) {
      if (isFailure(error, 'wrong_password')) return setFieldErrors({ current: `${error.message}.` })
      if (isFailure(error, 'weak_password')) return setFieldErrors({ next: `${error.message}.` })
      throw error
    }
    setCurrent('')
    setNext('')
    showSuccess(text.changed)
  }
  const submit = () => {
    const missing: FieldErrors = {
      ...(current === '' && { current: text.enterCurrent }),
      ...(next === '' && { next: text.enterNext }),
    }
    setFieldErrors(missing)
    return Object.keys(missing).length > 0 ? false : send()
  }
  const type = isShown ? 'text' : 'password'
  return (
    <Form action={text.changePassword} onSubmit={submit}>
      {/* The form contains the user name for password managers. */}
      <input
        className="unseen"
        type="text"
        autoComplete="username"
        value={user.preferred_username}
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
        error={fieldErrors.current}
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
        error={fieldErrors.next}
        isRequired
      />
      <CheckField label={text.show} isChecked={isShown} onChange={setShown} />
    </Form>
  )
}
