import { useFormats } from '../../app/language/language-context.tsx'

/** `Progress` is a progress bar. Without a value, the bar is indeterminate. */
export function Progress({ value, label }: { value: number | undefined; label: string }) {
  const formats = useFormats()
  return (
    <span className="progress">
      <progress aria-label={label} max={100} value={value} />
      <span className="progress-value">{value === undefined ? '' : formats.percent(value / 100)}</span>
    </span>
  )
}
