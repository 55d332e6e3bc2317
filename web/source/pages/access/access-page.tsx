import { useText } from '../../app/language/language-context.tsx'
import { TabbedPage } from '../../components/page/tabbed-page.tsx'
import { AccessGroups } from './access-groups.tsx'
import { AccessCheck } from './grants/access-check.tsx'
import { Grants } from './grants/grants.tsx'
import { accessMessages } from './messages.ts'
import { Providers } from './providers/providers.tsx'
import { Roles } from './roles/roles.tsx'
import { ServiceAccounts } from './service-accounts/service-accounts.tsx'
import { SignInPolicyView } from './sign-in-policy/sign-in-policy.tsx'
import { Users } from './users/users.tsx'

/** `AccessPage` manages users, service accounts, roles, role assignments, identity providers and the sign-in policy. */
export function AccessPage() {
  const text = useText(accessMessages)
  return (
    <TabbedPage
      title={text.title}
      subtitle={text.subtitle}
      label={text.views}
      views={{
        people: { title: text.users, View: Users },
        programs: { title: text.serviceAccounts, View: ServiceAccounts },
        roles: { title: text.roles, View: Roles, startsGroup: true },
        groups: { title: text.groups, View: AccessGroups },
        grants: { title: text.grants, View: Grants },
        providers: { title: text.providers, View: Providers, startsGroup: true },
        policy: { title: text.policy, View: SignInPolicyView },
        why: { title: text.check, View: AccessCheck, startsGroup: true },
      }}
    />
  )
}
