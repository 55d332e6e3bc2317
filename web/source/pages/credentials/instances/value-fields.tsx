import { useText } from '../../../app/language/language-context.tsx'
import { SelectField, TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { componentMessages } from '../../../components/messages.ts'
import { credentialMessages } from '../messages.ts'
import { type FormValues, secretPlaceholder, type ValueError, type ValueField } from './value-form.ts'

type ValueFieldsProps = {
  fields: readonly ValueField[]
  typed: FormValues
  errors: Readonly<Record<string, ValueError>>
  onChange: (typed: FormValues) => void
}

export function ValueFields({ fields, typed, errors, onChange }: ValueFieldsProps) {
  return fields.map((field) => (
    <ValueInput
      key={field.name}
      field={field}
      value={typed[field.name] ?? ''}
      error={errors[field.name]}
      onChange={(value) => onChange({ ...typed, [field.name]: value })}
    />
  ))
}

type ValueInputProps = {
  field: ValueField
  value: string
  error: ValueError | undefined
  onChange: (value: string) => void
}

function ValueInput({
  field: { label, description, kind, isSecret, isRequired, choices },
  value,
  error,
  onChange,
}: ValueInputProps) {
  const text = useText(credentialMessages)
  const words = useText(componentMessages)
  const hint = [description, value === secretPlaceholder && text.keepSecret].filter(Boolean).join(' ')
  const common = { label, isRequired, value, onChange, error: error && text[error], ...(hint !== '' && { hint }) }
  if (isSecret) return <TextField {...common} type="password" autoComplete="new-password" />
  if (kind === 'json') return <TextAreaField {...common} isCode />
  if (kind === 'boolean' || kind === 'choice') {
    const offered =
      kind === 'choice'
        ? choices.map((each) => ({ value: each, label: each }))
        : [
            { value: 'true', label: words.yes },
            { value: 'false', label: words.no },
          ]
    return <SelectField {...common} choices={[{ value: '', label: '–' }, ...offered]} />
  }
  return <TextField {...common} type={kind === 'number' ? 'number' : 'text'} />
}
