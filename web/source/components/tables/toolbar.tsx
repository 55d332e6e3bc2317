import type { ReactNode } from 'react'

/** What narrows a list down, above it; how many are left at the right. */
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
