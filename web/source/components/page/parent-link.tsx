import { Link } from '@tanstack/react-router'

type ParentLinkProps = { to: string; search?: Readonly<Record<string, string>>; children: string }

/**
 * `ParentLink` is a link above the title of a page, to a page that contains it. The router marks a link to a part of the
 * current address as the current page, so `ParentLink` requires the exact address.
 */
export function ParentLink({ to, search = {}, children }: ParentLinkProps) {
  return (
    <Link to={to} search={search as never} activeOptions={{ exact: true }}>
      {children}
    </Link>
  )
}
