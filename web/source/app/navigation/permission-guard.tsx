import { iconLock } from '@siemens/ix-icons/icons'
import type { ReactNode } from 'react'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { useLanguage, useText } from '../language/language-context.tsx'
import { useAppContext, useRights } from '../session/app-context.tsx'
import { appMessages } from '../shell/messages.ts'
import type { Area } from './area.ts'

/**
 * `PermissionGuard` renders an area only for users who have one of its permissions. All other users see which
 * permission is missing.
 */
export function PermissionGuard({ area, children }: { area: Area; children: ReactNode }) {
  const rights = useRights()
  if (area.permissions.length === 0 || rights.hasAny(area.permissions)) return children
  return <AccessDenied area={area} />
}

function AccessDenied({ area }: { area: Area }) {
  const language = useLanguage()
  const text = useText(appMessages)
  const { user } = useAppContext()
  const title = area.title[language]
  usePageTitle(title)
  return (
    <>
      <PageHeader title={title} />
      <EmptyState icon={iconLock} title={text.accessDenied}>
        <p>{text.needsPermission(title)}</p>
        <ul className="plain-list">
          {area.permissions.map((permission) => (
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
