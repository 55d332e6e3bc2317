import { useText } from '../../app/language/language-context.tsx'
import { TabbedPage } from '../../components/page/tabbed-page.tsx'
import { Groups } from './access-groups.tsx'
import { Why } from './grants/access-check.tsx'
import { Grants } from './grants/grants.tsx'
import { accessMessages } from './messages.ts'
import { Roles } from './roles/roles.tsx'
import { Programs } from './service-accounts/service-accounts.tsx'
import { People } from './users/users.tsx'

/** Who may do what. */
export function AccessPage() {
  const text = useText(accessMessages)
  return (
    <TabbedPage
      title={text.title}
      subtitle={text.subtitle}
      label={text.views}
      views={{
        people: { title: text.people, View: People },
        programs: { title: text.programs, View: Programs },
        roles: { title: text.roles, View: Roles },
        groups: { title: text.groups, View: Groups },
        grants: { title: text.grants, View: Grants },
        why: { title: text.why, View: Why },
      }}
    />
  )
}
