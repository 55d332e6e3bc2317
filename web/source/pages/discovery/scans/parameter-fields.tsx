import type { LinkParameter } from '@millwright/api/gatekeeper.ts'
import { isRequiredParameter } from '@millwright/api/link-parameter.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { parameterTexts } from '../built-in-links.ts'
import { addressCountOf, type FormValues, isNumeric, isRangeOf, type ParameterError } from './parameter-form.ts'
import { scanMessages } from './scan-messages.ts'

type ParameterFieldsProps = {
  assetLinkId: string
  parameters: readonly LinkParameter[]
  typed: FormValues
  errors: Readonly<Record<string, ParameterError>>
  onChange: (typed: FormValues) => void
}

/** `ParameterFields` contains form fields for the parameters that an asset link declares. */
export function ParameterFields({ assetLinkId, parameters, typed, errors, onChange }: ParameterFieldsProps) {
  return parameters.map((parameter) => (
    <ParameterField
      key={parameter.key}
      assetLinkId={assetLinkId}
      parameter={parameter}
      value={typed[parameter.key] ?? ''}
      error={errors[parameter.key]}
      onChange={(value) => onChange({ ...typed, [parameter.key]: value })}
    />
  ))
}

type ParameterFieldProps = {
  assetLinkId: string
  parameter: LinkParameter
  value: string
  error: ParameterError | undefined
  onChange: (value: string) => void
}

function ParameterField({ assetLinkId, parameter, value, error, onChange }: ParameterFieldProps) {
  const text = useText(scanMessages)
  const formats = useFormats()
  const { dataType, defaultValue } = parameter
  const { label, hint } = parameterTexts(assetLinkId, parameter, useLanguage())
  const addresses = isRangeOf(assetLinkId, parameter) ? addressCountOf(value) : undefined
  const common = {
    label,
    hint: hintOf(hint, [
      hasDefault(parameter) && text.isDefault(shown(defaultValue)),
      addresses !== undefined && text.addresses(addresses, formats.number(addresses)),
    ]),
    error: error && text[error],
    isRequired: isRequiredParameter(parameter),
    value,
    onChange,
  }
  if (dataType === 'boolean') {
    const choices = [
      {
        value: '',
        label: typeof defaultValue === 'boolean' ? text.unsetIs(text[defaultValue ? 'yes' : 'no']) : text.unset,
      },
      { value: 'true', label: text.yes },
      { value: 'false', label: text.no },
    ]
    return <SelectField {...common} choices={choices} />
  }
  return <TextField {...common} type={isNumeric(parameter) ? 'number' : 'text'} />
}

/** Returns the hint of a field: its description, ended with a full stop if necessary, and further facts. */
function hintOf(description: string | undefined, facts: readonly (string | false)[]): string | undefined {
  const sentence = description?.replace(/[^.!?:]$/, '$&.')
  return [sentence, ...facts].filter(Boolean).join(' ') || undefined
}

/** Returns whether the hint shows the default value. The choices of a boolean show it, and an empty text has none. */
function hasDefault({ dataType, defaultValue }: LinkParameter): boolean {
  return defaultValue !== undefined && defaultValue !== '' && dataType !== 'boolean'
}

/** Returns a value as text. Lists get a space after each comma, so that the text can wrap. */
function shown(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll(/,(?=\S)/g, ', ') : JSON.stringify(value)
}
