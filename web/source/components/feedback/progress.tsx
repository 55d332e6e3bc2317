import { useFormats } from '../../app/language/language-context.tsx'

/** How far something is; without a value that it goes on. */
export function Progress({ value, label }: { value: number | undefined; label: string }) {
  const formats = useFormats()
  return (
    <span className="progress">
      <progress aria-label={label} max={100} value={value} />
      <span className="progress-value">{value === undefined ? '' : formats.percent(value / 100)}</span>
    </span>
  )
}
