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

/** `RowButton` is the name of a row that opens a dialog. The row handles the click and the keyboard. */
export function RowButton({ children }: { children: string }) {
  return (
    <button type="button" className="link-button" data-opens-row="" tabIndex={-1} title={children}>
      {children}
    </button>
  )
}
