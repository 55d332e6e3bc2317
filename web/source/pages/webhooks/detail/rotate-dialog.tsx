import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { integerOf } from '../../../components/forms/integer.ts'
import { useRefreshSubscriptions } from '../subscription-data.ts'
import { detailMessages } from './messages.ts'
import { SecretDialog } from './secret-dialog.tsx'

/** `RotateDialog` creates a new signing secret of a webhook. The previous secret stays valid for some hours. */
export function RotateDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const text = useText(detailMessages)
  const api = useApi()
  const refresh = useRefreshSubscriptions()
  const [hours, setHours] = useState(String(subscriptionLimits.previousSecretHours))
  const [isSubmitted, setSubmitted] = useState(false)
  const [secret, setSecret] = useState<string>()
  const previousSecretHours = integerOf(hours, subscriptionLimits.maxPreviousSecretHours, 0)
  const rotate = async (validHours: number) => {
    const body = { data: { previousSecretHours: validHours } }
    const { data } = await api.events.rotateWebhookSecret({ params: { id }, body })
    setSecret(data.secret)
    await refresh()
  }
  const submit = () => {
    setSubmitted(true)
    return previousSecretHours === undefined ? false : rotate(previousSecretHours)
  }
  if (secret !== undefined) return <SecretDialog secret={secret} onClose={onClose} />
  return (
    <Dialog title={text.rotateTitle} onClose={onClose}>
      <Form action={text.rotate} onSubmit={submit} onCancel={onClose}>
        <p>{text.rotateText}</p>
        <TextField
          label={text.previousHours}
          hint={text.previousHoursHint}
          error={isSubmitted && previousSecretHours === undefined ? text.invalidHours : undefined}
          type="number"
          isRequired
          value={hours}
          onChange={setHours}
        />
      </Form>
    </Dialog>
  )
}
