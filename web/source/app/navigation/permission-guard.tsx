import { iconLock } from '@siemens/ix-icons/icons'
import type { ReactNode } from 'react'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { useLanguage, useText } from '../language/language-context.tsx'
import { useAppContext, useRights } from '../session/app-context.tsx'
import { appMessages } from '../shell/messages.ts'
import type { Area } from './area.ts'

/** The title of the area of a page, and the permissions for the page. */
type GuardedPage = Pick<Area, 'title' | 'permissions'>

/**
 * `PermissionGuard` renders a page only for users who have one of its permissions. All other users see which permission
 * is missing.
 */
export function PermissionGuard({ children, ...page }: GuardedPage & { children: ReactNode }) {
  const rights = useRights()
  if (page.permissions.length === 0 || rights.hasAny(page.permissions)) return children
  return <AccessDenied {...page} />
}

function AccessDenied({ title: titles, permissions }: GuardedPage) {
  const language = useLanguage()
  const text = useText(appMessages)
  const { user } = useAppContext()
  const title = titles[language]
  usePageTitle(title)
  return (
    <>
      <PageHeader title={title} />
      <EmptyState icon={iconLock} title={text.accessDenied}>
        <p>{text.needsPermission(title)}</p>
        <ul className="plain-list">
          {permissions.map((permission) => (
            <li key={permission}>
              <code>{permission}</code>
            </li>
          ))}
        </ul>
        <p>{text.askAdministrator(user.tenant_name)}</p>
      </EmptyState>
    </>
  )
}
