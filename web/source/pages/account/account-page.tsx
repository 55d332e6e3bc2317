import { useQuery } from '@tanstack/react-query'
import { useGroupNames } from '../../app/access-groups.ts'
import { useText } from '../../app/language-context.tsx'
import { useOperationQuery } from '../../app/queries.ts'
import type { Right } from '../../app/rights.ts'
import { useVisit } from '../../app/visit.tsx'
import { Card } from '../../components/card.tsx'
import { Facts } from '../../components/facts.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { usePageTitle } from '../../components/page-title.ts'
import { QueryState } from '../../components/query-state.tsx'
import { StatusChip } from '../../components/status-chip.tsx'
import { accountMessages } from './messages.ts'
import { PasswordForm } from './password-form.tsx'

/** Who somebody is, what they may do, and their password. */
export function AccountPage() {
  const text = useText(accountMessages)
  const { person } = useVisit()
  usePageTitle(text.title)
  const roles = person.roles.map((role) => <StatusChip key={role}>{role}</StatusChip>)
  return (
    <>
      <PageHeader title={person.name} />
      <div className="cards">
        <Card title={text.signedIn}>
          <Facts
            facts={[
              { name: text.name, value: person.preferred_username },
              { name: text.tenant, value: person.tenant_name },
              { name: text.roles, value: roles.length === 0 ? text.none : <span className="chips">{roles}</span> },
            ]}
          />
        </Card>
        <Card title={text.change}>
          <PasswordForm />
        </Card>
        <Card title={text.rights} size="wide">
          <OwnRights />
        </Card>
      </div>
    </>
  )
}

function OwnRights() {
  const text = useText(accountMessages)
  const { rights } = useVisit()
  const query = useOperationQuery()
  const permissions = useQuery(query(['authorization', 'listPermissions'], {}))
  const names = useGroupNames()
  if (rights.held.length === 0) return <p className="quiet">{text.noRights}</p>
  return (
    <QueryState query={permissions}>
      {({ data }) => (
        <ul className="rights">
          {rights.held.map((right) => (
            <li key={right.permission}>
              {data.find(({ name }) => name === right.permission)?.title ?? right.permission}
              <Whereabouts right={right} names={names} />
            </li>
          ))}
        </ul>
      )}
    </QueryState>
  )
}

const mostNamed = 5

function Whereabouts({ right: { accessGroups }, names }: { right: Right; names: ReadonlyMap<string, string> }) {
  const text = useText(accountMessages)
  if (accessGroups === 'all') return null
  const named = accessGroups
    .slice(0, mostNamed)
    .map((id) => names.get(id) ?? id)
    .join(', ')
  const more = accessGroups.length - mostNamed
  return <span className="where">{more > 0 ? text.andMore(named, more) : text.inGroups(named)}</span>
}
