import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { IxButton } from '@siemens/ix-react'
import { useRef } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { showError } from '../../../components/feedback/toast.ts'
import { TextAreaField } from '../../../components/forms/fields.tsx'
import { formMessages } from './messages.ts'

type AuthorityFieldProps = { value: string; onChange: (certificates: string) => void }

/** `AuthorityField` edits the certificates of a private authority. The user pastes them or chooses a file. */
export function AuthorityField({ value, onChange }: AuthorityFieldProps) {
  const text = useText(formMessages)
  const input = useRef<HTMLInputElement>(null)
  const read = async (file: File | undefined) => {
    if (file !== undefined) onChange((await file.slice(0, subscriptionLimits.authorityCharacters).text()).trim())
  }
  return (
    <details className="group" open={value !== ''}>
      <summary>{text.authority}</summary>
      <TextAreaField
        label={text.authorityCertificates}
        hint={text.authorityHint}
        rows={5}
        isCode
        maxLength={subscriptionLimits.authorityCharacters}
        value={value}
        onChange={onChange}
      />
      <div className="authority-file">
        <IxButton variant="secondary" type="button" onClick={() => input.current?.click()}>
          {text.chooseFile}
        </IxButton>
        <input
          ref={input}
          type="file"
          hidden
          accept=".pem,.crt,.cer"
          onChange={({ target }) => {
            read(target.files?.[0]).catch((error: Error) => showError(error.message))
          }}
        />
      </div>
    </details>
  )
}
