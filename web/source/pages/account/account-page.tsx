import type { Permission } from '@millwright/api/permission.ts'
import { useQuery } from '@tanstack/react-query'
import { useGroupNames } from '../../app/api/access-groups.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { useAppContext } from '../../app/session/app-context.tsx'
import type { Right } from '../../app/session/rights.ts'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { Card } from '../../components/page/card.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { permissionTitle } from '../access/roles/role-titles.ts'
import { accountMessages } from './messages.ts'
import { PasswordForm } from './password-form.tsx'

/** `AccountPage` shows the profile and the permissions of the signed-in user, who can change the password there. */
export function AccountPage() {
  const text = useText(accountMessages)
  const { user } = useAppContext()
  usePageTitle(text.title)
  const roles = user.roles.map((role) => <StatusChip key={role}>{role}</StatusChip>)
  return (
    <>
      <PageHeader title={user.name} />
      <div className="cards">
        <Card title={text.signedIn}>
          <KeyValueList
            items={[
              { name: text.name, value: user.preferred_username },
              { name: text.tenant, value: user.tenant_name },
              { name: text.roles, value: roles.length === 0 ? text.none : <span className="chips">{roles}</span> },
            ]}
          />
        </Card>
        <Card title={text.change}>
          <PasswordForm />
        </Card>
        <Card title={text.rights} size="wide">
          <PermissionList />
        </Card>
      </div>
    </>
  )
}

function PermissionList() {
  const text = useText(accountMessages)
  const { rights } = useAppContext()
  const query = useOperationQuery()
  const permissions = useQuery(query(['authorization', 'listPermissions'], {}))
  const names = useGroupNames()
  const language = useLanguage()
  const titleOf = (permission: { name: Permission; title: string } | undefined) =>
    permission && permissionTitle(permission, language)
  if (rights.held.length === 0) return <p className="quiet">{text.noRights}</p>
  return (
    <QueryState query={permissions}>
      {({ data }) => (
        <ul className="rights">
          {rights.held.map((right) => (
            <li key={right.permission}>
              {titleOf(data.find(({ name }) => name === right.permission)) ?? right.permission}
              <PermissionScope right={right} names={names} />
            </li>
          ))}
        </ul>
      )}
    </QueryState>
  )
}

const maxNames = 5

function PermissionScope({ right: { accessGroups }, names }: { right: Right; names: ReadonlyMap<string, string> }) {
  const text = useText(accountMessages)
  if (accessGroups === 'all') return null
  const named = accessGroups
    .slice(0, maxNames)
    .map((id) => names.get(id) ?? id)
    .join(', ')
  const more = accessGroups.length - maxNames
  return <span className="where">{more > 0 ? text.andMore(named, more) : text.inGroups(named)}</span>
}
