import { TextField } from './fields.tsx'

type TimestampFieldProps = {
  label: string
  /** The UTC timestamp, or undefined if the field is empty. */
  value: string | undefined
  onChange: (timestamp: string | undefined) => void
  isLabelUnseen?: boolean
}

/** `TimestampField` edits a point in time in the local time zone of the browser. Its value is a UTC timestamp. */
export function TimestampField({ label, value, onChange, isLabelUnseen }: TimestampFieldProps) {
  return (
    <TextField
      label={label}
      type="datetime-local"
      value={value === undefined ? '' : localOf(value)}
      {...(isLabelUnseen && { isLabelUnseen })}
      onChange={(local) => {
        const at = new Date(local)
        onChange(Number.isNaN(at.getTime()) ? undefined : at.toISOString())
      }}
    />
  )
}

/**
 * Returns the local time without a time zone, in the format of a `datetime-local` input element. The element itself leaves out seconds
 * that are zero. With another text, the browser would report the former value as a change.
 */
function localOf(timestamp: string): string {
  const at = new Date(timestamp)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19).replace(/:00$/, '')
}
