import { type ReactNode, useEffect, useRef } from 'react'

type PageHeaderProps = {
  title: string
  /** One sentence about what the page is for or shows. */
  subtitle?: ReactNode
  /** Above the title: where one is. */
  above?: ReactNode
  /** What one can do here, at the right. */
  actions?: ReactNode
}

/** The first heading of a page. Who cannot see that the page changed hears it: the heading takes the focus. */
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
