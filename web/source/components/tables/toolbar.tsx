import type { ReactNode } from 'react'

/** `Toolbar` contains the filters above a list, and the number of matching entries. */
export function Toolbar({ children, count }: { children: ReactNode; count?: ReactNode }) {
  return (
    <search className="toolbar">
      <div className="toolbar-fields">{children}</div>
      {count !== undefined && (
        <p className="toolbar-count" role="status">
          {count}
        </p>
      )}
    </search>
  )
}
