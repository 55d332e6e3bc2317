import { useText } from '../../app/language-context.tsx'
import { TabbedPage } from '../../components/tabbed-page.tsx'
import { Grants } from './grants.tsx'
import { Groups } from './groups.tsx'
import { accessMessages } from './messages.ts'
import { People } from './people.tsx'
import { Programs } from './programs.tsx'
import { Roles } from './roles.tsx'
import { Why } from './why.tsx'

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
