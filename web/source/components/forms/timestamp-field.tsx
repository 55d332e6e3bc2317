import { TextField } from './fields.tsx'

type TimestampFieldProps = {
  label: string
  /** A timestamp; nothing is not chosen. */
  value: string | undefined
  onChange: (timestamp: string | undefined) => void
  isLabelUnseen?: boolean
}

/** A point in time, in the zone of whoever looks; told as a timestamp. */
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

/** As the field has it: no zone, down to the second. */
function localOf(timestamp: string): string {
  const at = new Date(timestamp)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
