import type { ReactNode } from 'react'

type TwoLinesProps = { children: ReactNode; second?: ReactNode; title?: string | undefined }

/** `TwoLines` shows a value in a cell of a table with high rows, with smaller details below it. */
export function TwoLines({ children, second, title }: TwoLinesProps) {
  return (
    <span className="two-lines" title={title}>
      <span>{children}</span>
      {second !== undefined && <span>{second}</span>}
    </span>
  )
}
