import type { IdentityProvider } from '@millwright/api/identity-providers.ts'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { CheckField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { providerMessages } from './messages.ts'
import { type ChangeProvider, changesOf, formOf, type ProviderForm } from './provider-form.ts'

type ProviderDialogProps = {
  provider: IdentityProvider
  onChange: ChangeProvider
  onClose: () => void
}

/** `ProviderDialog` edits the settings of an identity provider. */
export function ProviderDialog({ provider, onChange, onClose }: ProviderDialogProps) {
  const text = useText(providerMessages)
  const [form, setForm] = useState(() => formOf(provider))
  const [isSubmitted, setSubmitted] = useState(false)
  const change = (changed: Partial<ProviderForm>) => setForm({ ...form, ...changed })
  const save = async () => {
    const changes = changesOf(form, provider)
    if (Object.keys(changes).length > 0) await onChange(changes)
    showSuccess(text.saved)
    onClose()
  }
  const required = [form.title, form.clientId, form.nameClaim, form.groupsClaim]
  const submit = () => {
    setSubmitted(true)
    return required.some((value) => value.trim() === '') ? false : save()
  }
  const missing = (value: string) => (isSubmitted && value.trim() === '' ? text.required : undefined)
  return (
    <Dialog title={provider.title} onClose={onClose}>
      <Form action={text.save} onSubmit={submit}>
        <TextField
          label={text.title}
          hint={text.titleHint}
          error={missing(form.title)}
          maxLength={256}
          isRequired
          value={form.title}
          onChange={(title) => change({ title })}
        />
        <TextField
          label={text.clientId}
          error={missing(form.clientId)}
          maxLength={256}
          isRequired
          value={form.clientId}
          onChange={(clientId) => change({ clientId })}
        />
        <TextField
          label={text.clientSecret}
          hint={provider.hasClientSecret ? text.clientSecretChange : text.clientSecretHint}
          type="password"
          maxLength={1024}
          isDisabled={form.isSecretRemoved}
          value={form.clientSecret}
          onChange={(clientSecret) => change({ clientSecret })}
        />
        {provider.hasClientSecret && (
          <CheckField
            label={text.removeSecret}
            isChecked={form.isSecretRemoved}
            onChange={(isSecretRemoved) => change({ isSecretRemoved })}
          />
        )}
        <TextField
          label={text.scopes}
          hint={text.scopesHint}
          isCode
          value={form.scopes}
          onChange={(scopes) => change({ scopes })}
        />
        <TextField
          label={text.nameClaim}
          error={missing(form.nameClaim)}
          maxLength={256}
          isCode
          isRequired
          value={form.nameClaim}
          onChange={(nameClaim) => change({ nameClaim })}
        />
        <TextField
          label={text.groupsClaim}
          hint={text.groupsClaimHint}
          error={missing(form.groupsClaim)}
          maxLength={256}
          isCode
          isRequired
          value={form.groupsClaim}
          onChange={(groupsClaim) => change({ groupsClaim })}
        />
        <TextField
          label={text.apiAudience}
          hint={text.apiAudienceHint}
          maxLength={256}
          isCode
          value={form.apiAudience}
          onChange={(apiAudience) => change({ apiAudience })}
        />
      </Form>
    </Dialog>
  )
}
