import { useQuery } from '@tanstack/react-query'
import { useGroupNames } from '../../app/api/access-groups.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { useAppContext } from '../../app/session/app-context.tsx'
import type { Right } from '../../app/session/rights.ts'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { Card } from '../../components/page/card.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { Tabs } from '../../components/page/tabs.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { permissionTitle } from '../access/roles/role-titles.ts'
import { accountMessages } from './messages.ts'
import { permissionAreas } from './permission-areas.ts'
import { Security, useAccountSecurity } from './security/security.tsx'
import { Sessions } from './sessions.tsx'
import './account.css'

const views = ['profile', 'security', 'sessions'] as const

/** `AccountPage` shows the profile, the second factors and the sessions of the signed-in user. */
export function AccountPage() {
  const text = useText(accountMessages)
  const [search, setSearch] = useSearchState<'view'>()
  const view = views.find((each) => each === search.view) ?? 'profile'
  usePageTitle(text.title)
  return (
    <>
      <PageHeader title={text.title} />
      <Tabs
        label={text.views}
        tabs={views.map((id) => ({ id, label: text[id] }))}
        chosen={view}
        onChoose={(id) => setSearch({ view: id === 'profile' ? undefined : id })}
      >
        {view === 'profile' && <Profile />}
        {view === 'security' && <Security />}
        {view === 'sessions' && <Sessions />}
      </Tabs>
    </>
  )
}

function Profile() {
  const text = useText(accountMessages)
  const { user } = useAppContext()
  const { hasPassword = true, provider = null } = useAccountSecurity().data?.data ?? {}
  const roles = user.roles.map((role) => <StatusChip key={role}>{role}</StatusChip>)
  return (
    <div className="cards">
      <Card title={text.signedIn} size="wide">
        <KeyValueList
          items={[
            { name: text.displayName, value: user.name },
            { name: text.name, value: user.preferred_username },
            { name: text.tenant, value: user.tenant_name },
            !hasPassword && { name: text.provider, value: provider },
            { name: text.roles, value: roles.length === 0 ? text.none : <span className="chips">{roles}</span> },
          ]}
        />
      </Card>
      <Card title={text.rights} size="wide">
        <PermissionList />
      </Card>
    </div>
  )
}

function PermissionList() {
  const text = useText(accountMessages)
  const { rights, user } = useAppContext()
  const query = useOperationQuery()
  const permissions = useQuery(query(['authorization', 'listPermissions'], {}))
  const names = useGroupNames()
  const language = useLanguage()
  const titles = new Map(permissions.data?.data.map((each) => [each.name, permissionTitle(each, language)]))
  if (rights.held.length === 0) return <p className="quiet">{text.noRights}</p>
  const isComplete =
    user.roles.includes('administrator') && rights.held.every(({ accessGroups }) => accessGroups === 'all')
  return (
    <QueryState query={permissions}>
      {() => (
        <>
          {isComplete && <p className="card-lead">{text.allRights}</p>}
          {permissionAreas.map(({ id, members }) => {
            const held = rights.held.filter(({ permission }) => members.includes(permission))
            return held.length === 0 ? null : (
              <details key={id} className="permission-area">
                <summary>
                  {text[id]} <span className="quiet">({held.length})</span>
                </summary>
                <ul className="rights">
                  {held.map((right) => (
                    <li key={right.permission}>
                      {titles.get(right.permission) ?? right.permission}
                      <PermissionScope right={right} names={names} />
                    </li>
                  ))}
                </ul>
              </details>
            )
          })}
        </>
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
