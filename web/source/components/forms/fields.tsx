import { type HTMLInputAutoCompleteAttribute, type ReactNode, type Ref, useId } from 'react'

type FieldProps = {
  label: string
  hint?: ReactNode
  /** The error message below the field. */
  error?: string | undefined
  isRequired?: boolean
  isDisabled?: boolean
  /** Whether the label is visually hidden. Screen readers still read it. */
  isLabelUnseen?: boolean
}

type FieldFrameProps = FieldProps & {
  children: (control: { id: string; describedBy: string | undefined; isInvalid: boolean }) => ReactNode
}

/** `Field` adds a label, a hint and an error message to a control, and connects them with ARIA references. */
export function Field({ label, hint, error, isRequired, isLabelUnseen, children }: FieldFrameProps) {
  const id = useId()
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  return (
    <div className="field" data-invalid={error !== undefined}>
      <label htmlFor={id} className={isLabelUnseen ? 'unseen' : 'field-label'}>
        {label}
        {isRequired && <span aria-hidden="true"> *</span>}
      </label>
      {children({ id, describedBy: described.join(' ') || undefined, isInvalid: error !== undefined })}
      {hint !== undefined && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p className="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  )
}

type TextFieldProps = FieldProps & {
  value: string
  onChange: (value: string) => void
  type?: 'text' | 'password' | 'number' | 'search' | 'url' | 'datetime-local' | 'date' | 'time'
  autoComplete?: HTMLInputAutoCompleteAttribute
  /** The on-screen keyboard of phones and tablets, if it differs from the keyboard for the type. */
  inputMode?: 'numeric'
  placeholder?: string
  maxLength?: number
  isCode?: boolean
  /** The suggestions that are shown while the user types. The user can also enter other values. */
  suggestions?: readonly Choice[]
  ref?: Ref<HTMLInputElement>
}

export function TextField({ value, onChange, type = 'text', ref, isCode, suggestions, ...props }: TextFieldProps) {
  const { autoComplete = 'off', inputMode, placeholder, maxLength, isRequired, isDisabled } = props
  return (
    <Field {...props}>
      {({ id, describedBy, isInvalid }) => (
        <>
          <input
            ref={ref}
            id={id}
            list={suggestions && `${id}-list`}
            className={isCode ? 'input code' : 'input'}
            type={type}
            value={value}
            autoComplete={autoComplete}
            inputMode={inputMode}
            placeholder={placeholder}
            maxLength={maxLength}
            required={isRequired}
            disabled={isDisabled}
            spellCheck={false}
            aria-invalid={isInvalid}
            aria-describedby={describedBy}
            onChange={({ target }) => onChange(target.value)}
          />
          {suggestions !== undefined && (
            <datalist id={`${id}-list`}>
              {suggestions.map((choice) => (
                <option key={choice.value} value={choice.value} label={choice.label} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  )
}

type TextAreaFieldProps = FieldProps & {
  value: string
  onChange: (value: string) => void
  rows?: number
  maxLength?: number
  isCode?: boolean
}

export function TextAreaField({ value, onChange, rows = 4, maxLength, isCode, ...props }: TextAreaFieldProps) {
  return (
    <Field {...props}>
      {({ id, describedBy, isInvalid }) => (
        <textarea
          id={id}
          className={isCode ? 'input code' : 'input'}
          rows={rows}
          value={value}
          maxLength={maxLength}
          required={props.isRequired}
          disabled={props.isDisabled}
          spellCheck={false}
          aria-invalid={isInvalid}
          aria-describedby={describedBy}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  )
}

export type Choice<Value extends string = string> = { value: Value; label: string }

type SelectFieldProps<Value extends string> = FieldProps & {
  value: Value
  onChange: (value: Value) => void
  choices: readonly Choice<Value>[]
}

export function SelectField<Value extends string>({ value, onChange, choices, ...props }: SelectFieldProps<Value>) {
  return (
    <Field {...props}>
      {({ id, describedBy, isInvalid }) => (
        <select
          id={id}
          className="input"
          value={value}
          required={props.isRequired}
          disabled={props.isDisabled}
          aria-invalid={isInvalid}
          aria-describedby={describedBy}
          onChange={({ target }) => onChange(target.value as Value)}
        >
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

type CheckFieldProps = {
  label: ReactNode
  hint?: string
  isChecked: boolean
  onChange: (isChecked: boolean) => void
  isDisabled?: boolean
  /** Whether the field is a switch, which takes effect immediately. */
  isSwitch?: boolean
}

export function CheckField({ label, hint, isChecked, onChange, isDisabled, isSwitch = false }: CheckFieldProps) {
  const hintId = useId()
  return (
    <label className="check">
      <input
        type="checkbox"
        role={isSwitch ? 'switch' : undefined}
        aria-describedby={hint && hintId}
        checked={isChecked}
        disabled={isDisabled}
        onChange={({ target }) => onChange(target.checked)}
      />
      <span>
        {label}
        {hint !== undefined && (
          <span className="field-hint" id={hintId}>
            {hint}
          </span>
        )}
      </span>
    </label>
  )
}
