import { type ReactNode, useEffect, useRef } from 'react'

type PageHeaderProps = {
  title: string
  /** One sentence that describes the page. */
  subtitle?: ReactNode
  /** The breadcrumb above the title. */
  above?: ReactNode
  /** Buttons on the right. */
  actions?: ReactNode
}

/**
 * `PageHeader` contains the main heading of a page. The heading receives the focus when the page opens, so that screen
 * readers announce the new page.
 */
export function PageHeader({ title, subtitle, above, actions }: PageHeaderProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    heading.current?.focus({ preventScroll: true })
  }, [])
  return (
    <header className="page-header">
      {above !== undefined && <div className="page-above">{above}</div>}
      <div className="page-header-row">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </div>
      {subtitle !== undefined && <p className="page-subtitle">{subtitle}</p>}
    </header>
  )
}
