import { iconLock } from '@siemens/ix-icons/icons'
import type { ReactNode } from 'react'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { useLanguage, useText } from '../language/language-context.tsx'
import { useRights, useVisit } from '../session/user-context.tsx'
import { appMessages } from '../shell/messages.ts'
import type { Area } from './area.ts'

/** Lets who may open an area in, and tells everybody else what they lack and who can give it. */
export function Guard({ area, children }: { area: Area; children: ReactNode }) {
  const rights = useRights()
  if (area.permissions.length === 0 || rights.mayAny(area.permissions)) return children
  return <NotOpen area={area} />
}

function NotOpen({ area }: { area: Area }) {
  const language = useLanguage()
  const text = useText(appMessages)
  const { person } = useVisit()
  const title = area.title[language]
  usePageTitle(title)
  return (
    <>
      <PageHeader title={title} />
      <EmptyState icon={iconLock} title={text.notOpen}>
        <p>{text.needsPermission(title)}</p>
        <ul className="plain-list">
          {area.permissions.map((permission) => (
            <li key={permission}>
              <code>{permission}</code>
            </li>
          ))}
        </ul>
        <p>{text.whoCanGive(person.tenant_name)}</p>
      </EmptyState>
    </>
  )
}
