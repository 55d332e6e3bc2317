import type { LinkParameter } from '@millwright/api/gatekeeper.ts'
import { isRequiredParameter } from '@millwright/api/link-parameter.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { type FormValues, isNumeric, type ParameterError } from './parameter-form.ts'
import { scanMessages } from './scan-messages.ts'

type ParameterFieldsProps = {
  parameters: readonly LinkParameter[]
  typed: FormValues
  errors: Readonly<Record<string, ParameterError>>
  onChange: (typed: FormValues) => void
}

/** `ParameterFields` contains form fields for the parameters that an asset link declares. */
export function ParameterFields({ parameters, typed, errors, onChange }: ParameterFieldsProps) {
  return parameters.map((parameter) => (
    <ParameterField
      key={parameter.key}
      parameter={parameter}
      value={typed[parameter.key] ?? ''}
      error={errors[parameter.key]}
      onChange={(value) => onChange({ ...typed, [parameter.key]: value })}
    />
  ))
}

type ParameterFieldProps = {
  parameter: LinkParameter
  value: string
  error: ParameterError | undefined
  onChange: (value: string) => void
}

function ParameterField({ parameter, value, error, onChange }: ParameterFieldProps) {
  const text = useText(scanMessages)
  const { key, dataType, defaultValue, description } = parameter
  const common = {
    label: key,
    hint: hintOf(description, defaultValue !== undefined && text.isDefault(shown(defaultValue))),
    error: error && text[error],
    isRequired: isRequiredParameter(parameter),
    value,
    onChange,
  }
  if (dataType === 'boolean') {
    const choices = [
      { value: '', label: text.unset },
      { value: 'true', label: text.yes },
      { value: 'false', label: text.no },
    ]
    return <SelectField {...common} choices={choices} />
  }
  return <TextField {...common} type={isNumeric(parameter) ? 'number' : 'text'} />
}

/** Returns the hint of a field: its description, ended with a full stop if necessary, and the default value. */
function hintOf(description: string | undefined, isDefault: string | false): string | undefined {
  const sentence = description?.replace(/[^.!?:]$/, '$&.')
  return [sentence, isDefault].filter(Boolean).join(' ') || undefined
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
