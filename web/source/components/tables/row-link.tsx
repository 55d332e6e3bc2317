import { basePath } from '../../app/navigation/base-path.ts'

type RowLinkProps = { to: string; children: string }

/**
 * `RowLink` is the name of a row as a link to the page that the row opens. It is a plain link, and the row handles the click and
 * the keyboard. Router links in every row would be too slow.
 */
export function RowLink({ to, children }: RowLinkProps) {
  return (
    <a href={`${basePath}${to}`} data-opens-row="" tabIndex={-1} title={children}>
      {children}
    </a>
  )
}

type RowButtonProps = {
  children: string
  /** The accessible name, if the text is the same in all rows. */
  label?: string
}

/** `RowButton` is the name of a row that opens a dialog. The row handles the click and the keyboard. */
export function RowButton({ children, label }: RowButtonProps) {
  return (
    <button
      type="button"
      className="link-button"
      data-opens-row=""
      tabIndex={-1}
      title={label ?? children}
      aria-label={label}
    >
      {children}
    </button>
  )
}
