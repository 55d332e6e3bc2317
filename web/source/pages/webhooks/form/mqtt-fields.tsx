import { useText } from '../../../app/language/language-context.tsx'
import { useAppContext } from '../../../app/session/app-context.tsx'
import { CheckField, TextField } from '../../../components/forms/fields.tsx'
import { formMessages } from './messages.ts'
import type { SubscriptionForm } from './subscription-form.ts'
import { topicPreview, unknownPlaceholders } from './topic-preview.ts'

type MqttFieldsProps = {
  form: SubscriptionForm
  onChange: (changed: Partial<SubscriptionForm>) => void
}

/** `SignInFields` contains the client ID, the user name and the password for the broker. */
export function SignInFields({ form, hasPassword, onChange }: MqttFieldsProps & { hasPassword: boolean }) {
  const text = useText(formMessages)
  return (
    <>
      <TextField
        label={text.clientId}
        hint={text.clientIdHint}
        maxLength={128}
        isCode
        value={form.clientId}
        onChange={(clientId) => onChange({ clientId })}
      />
      <TextField
        label={text.userName}
        hint={text.userNameHint}
        maxLength={256}
        value={form.userName}
        onChange={(userName) => onChange({ userName })}
      />
      <TextField
        label={text.password}
        {...(hasPassword && { hint: text.passwordChange })}
        type="password"
        autoComplete="new-password"
        maxLength={1024}
        isDisabled={form.isPasswordRemoved}
        value={form.password}
        onChange={(password) => onChange({ password })}
      />
      {hasPassword && (
        <CheckField
          label={text.removePassword}
          isChecked={form.isPasswordRemoved}
          onChange={(isPasswordRemoved) => onChange({ isPasswordRemoved })}
        />
      )}
    </>
  )
}

type TopicFieldsProps = MqttFieldsProps & { error: string | undefined; statusError: string | undefined }

/** `TopicFields` contains the topic template with a preview, and what the broker keeps. */
export function TopicFields({ form, error, statusError, onChange }: TopicFieldsProps) {
  const text = useText(formMessages)
  const { user } = useAppContext()
  const unknown = unknownPlaceholders(form.topic)
  const unknownOfStatus = unknownPlaceholders(form.statusTopic, { isStatus: true })
  return (
    <fieldset className="group">
      <legend>{text.topics}</legend>
      <TextField
        label={text.topic}
        hint={text.topicHint}
        error={unknown.length > 0 ? text.unknownPlaceholders(unknown.join(', ')) : error}
        maxLength={512}
        isCode
        isRequired
        value={form.topic}
        onChange={(topic) => onChange({ topic })}
      />
      {form.topic.trim() !== '' && unknown.length === 0 && (
        <p className="topic-preview" role="status">
          <span className="quiet">{text.topicPreview}</span> <code>{topicPreview(form.topic, user.tenant_name)}</code>
        </p>
      )}
      <CheckField
        label={text.retain}
        hint={text.retainHint}
        isChecked={form.retain}
        onChange={(retain) => onChange({ retain })}
      />
      <TextField
        label={text.statusTopic}
        hint={text.statusTopicHint}
        error={unknownOfStatus.length > 0 ? text.unknownPlaceholders(unknownOfStatus.join(', ')) : statusError}
        maxLength={512}
        isCode
        placeholder="millwright/{tenant}/status"
        value={form.statusTopic}
        onChange={(statusTopic) => onChange({ statusTopic })}
      />
      {form.statusTopic.trim() !== '' && unknownOfStatus.length === 0 && (
        <p className="topic-preview">
          <span className="quiet">{text.statusPreview}</span>{' '}
          <code>{topicPreview(form.statusTopic, user.tenant_name)}</code>
        </p>
      )}
    </fieldset>
  )
}
