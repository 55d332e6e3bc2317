import { updateLimits } from '@millwright/api/updates.ts'
import { IxButton } from '@siemens/ix-react'
import { useRef } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { showError } from '../../../components/feedback/toast.ts'
import { TextAreaField } from '../../../components/forms/fields.tsx'
import type { ArtefactForm } from './artefact-form.ts'
import { artefactMessages } from './messages.ts'

type DescriptionFieldsProps = {
  form: ArtefactForm
  onChange: (changed: Partial<ArtefactForm>) => void
  productsError: string | undefined
}

/** `DescriptionFields` contains the fields of an artefact that can be changed later. */
export function DescriptionFields({ form, onChange, productsError }: DescriptionFieldsProps) {
  const text = useText(artefactMessages)
  return (
    <>
      <TextAreaField
        label={text.products}
        hint={text.productsHint}
        isRequired
        error={productsError}
        rows={2}
        value={form.products}
        onChange={(products) => onChange({ products })}
      />
      <div className="field-pair">
        <TextAreaField
          label={text.requires}
          hint={text.requiresHint}
          rows={2}
          isCode
          value={form.requires}
          onChange={(requires) => onChange({ requires })}
        />
        <TextAreaField
          label={text.hardwareVersions}
          hint={text.hardwareHint}
          rows={2}
          value={form.hardwareVersions}
          onChange={(hardwareVersions) => onChange({ hardwareVersions })}
        />
      </div>
      <TextAreaField
        label={text.releaseNotes}
        rows={4}
        maxLength={updateLimits.releaseNotes}
        value={form.releaseNotes}
        onChange={(releaseNotes) => onChange({ releaseNotes })}
      />
    </>
  )
}

/** `SignatureField` is a field for a detached signature, with a button that reads it from a file. */
export function SignatureField({ value, onChange }: { value: string; onChange: (signature: string) => void }) {
  const text = useText(artefactMessages)
  const input = useRef<HTMLInputElement>(null)
  const read = async (file: File | undefined) => {
    if (file === undefined) return
    onChange((await file.slice(0, updateLimits.signatureCharacters).text()).trim())
  }
  return (
    <>
      <TextAreaField
        label={text.signature}
        hint={text.signatureHint}
        rows={4}
        isCode
        maxLength={updateLimits.signatureCharacters}
        value={value}
        onChange={onChange}
      />
      <div>
        <IxButton variant="secondary" type="button" onClick={() => input.current?.click()}>
          {text.signatureFile}
        </IxButton>
        <input
          ref={input}
          type="file"
          hidden
          accept=".p7s,.pem,.sig,.minisig,.cms"
          onChange={({ target }) => {
            read(target.files?.[0]).catch((error: Error) => showError(error.message))
          }}
        />
      </div>
    </>
  )
}
