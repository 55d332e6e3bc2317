import { iconCalendar } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { useRef, useState } from 'react'
import { localeOf } from '../../app/language/language.ts'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'
import { Field } from './fields.tsx'
import { inputTimeOf, readLocalTime } from './local-time.ts'

type TimestampFieldProps = {
  label: string
  /** The UTC timestamp, or undefined if the field is empty. */
  value: string | undefined
  onChange: (timestamp: string | undefined) => void
  isLabelUnseen?: boolean
  /** The text of an empty field. The default is an example of the format. */
  placeholder?: string
}

/** The time in the placeholder of an empty field. */
const example = new Date(2026, 0, 31, 8, 30).toISOString()

/**
 * `TimestampField` edits a point in time in the local time zone of the browser, in the format of the language of the user. Its value is
 * a UTC timestamp. It applies the text on Enter or when the field loses the focus. The button opens the calendar of the browser.
 */
export function TimestampField({ label, value, onChange, isLabelUnseen, placeholder }: TimestampFieldProps) {
  const text = useText(componentMessages)
  const formats = useFormats()
  const locale = localeOf[useLanguage()]
  const picker = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState<string>()
  const isValid = value !== undefined && inputTimeOf(value) !== ''
  const shown = isValid ? formats.dateTime(value) : ''
  const isRefused = typed !== undefined && typed.trim() !== '' && readLocalTime(typed, locale) === undefined
  const [isLeft, setLeft] = useState(false)
  const apply = () => {
    setLeft(true)
    if (typed === undefined || isRefused) return
    setTyped(undefined)
    // The text has no seconds. A text that was not changed must not remove them.
    if (typed.trim() === shown) return
    onChange(readLocalTime(typed, locale)?.toISOString())
  }
  return (
    <Field
      label={label}
      error={isRefused && isLeft ? text.timeFormat(formats.dateTime(example)) : undefined}
      {...(isLabelUnseen && { isLabelUnseen })}
    >
      {({ id, describedBy, isInvalid }) => (
        <span className="timestamp">
          <input
            id={id}
            className="input"
            type="text"
            value={typed ?? shown}
            placeholder={placeholder ?? formats.dateTime(example)}
            autoComplete="off"
            spellCheck={false}
            maxLength={40}
            aria-invalid={isInvalid}
            aria-describedby={describedBy}
            onChange={({ target }) => {
              setTyped(target.value)
              setLeft(false)
            }}
            onBlur={apply}
            onKeyDown={({ key }) => {
              if (key === 'Enter') apply()
              if (key === 'Escape') setTyped(undefined)
            }}
          />
          <input
            ref={picker}
            className="timestamp-picker"
            type="datetime-local"
            tabIndex={-1}
            aria-hidden="true"
            value={isValid ? inputTimeOf(value) : ''}
            onChange={({ target }) => {
              const at = new Date(target.value)
              setTyped(undefined)
              onChange(Number.isNaN(at.getTime()) ? undefined : at.toISOString())
            }}
          />
          <IxIconButton
            className="timestamp-open"
            icon={iconCalendar}
            size="24"
            variant="subtle-tertiary"
            aria-label={text.calendar(label)}
            title={text.calendar(label)}
            onClick={() => picker.current?.showPicker()}
          />
        </span>
      )}
    </Field>
  )
}
