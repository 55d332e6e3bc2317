import type { Permission } from '@millwright/api/permission.ts'
import { useQuery } from '@tanstack/react-query'
import { useGroupNames } from '../../../app/api/access-groups.ts'
import type { Output } from '../../../app/api/client.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { usePermissions, usePrincipalChoices, usePrincipals, useRoles } from '../choices.ts'
import { accessMessages } from '../messages.ts'

/** `AccessCheck` shows whether a principal has a permission, and which role assignments give it. */
export function AccessCheck() {
  const text = useText(accessMessages)
  const query = useOperationQuery()
  const principals = usePrincipalChoices()
  const permissions = usePermissions()
  const groups = useGroupNames()
  const [search, setSearch] = useSearchState<'who' | 'permission' | 'group'>()
  const permission: Permission =
    permissions.find(({ name }) => name === search.permission)?.name ?? 'inventory_read_asset_data'
  const principal = search.who ?? principals[0]?.value
  const checked = useQuery({
    ...query(
      ['authorization', 'check'],
      { query: { permission, ...(principal && { principal }), ...(search.group && { accessGroup: search.group }) } },
      { live: ['authorization', 'identity'] },
    ),
    enabled: principal !== undefined,
  })
  return (
    <>
      <p className="card-lead quiet">{text.checkIntro}</p>
      <div className="question">
        <SelectField
          label={text.account}
          value={principal ?? ''}
          onChange={(who) => setSearch({ who })}
          choices={principals}
        />
        <SelectField
          label={text.permission}
          value={permission}
          onChange={(chosen) => setSearch({ permission: chosen })}
          choices={permissions.map(({ name, title }) => ({ value: name, label: title }))}
        />
        <SelectField
          label={text.inGroup}
          value={search.group ?? ''}
          onChange={(group) => setSearch({ group })}
          choices={[{ value: '', label: text.anyGroup }, ...[...groups].map(([value, label]) => ({ value, label }))]}
        />
      </div>
      <QueryState query={checked}>
        {({ data }) => (
          <CheckResult
            result={data}
            title={permissions.find(({ name }) => name === data.permission)?.title ?? data.permission}
            groups={groups}
          />
        )}
      </QueryState>
    </>
  )
}

type CheckResultProps = {
  result: Output<'authorization', 'check'>['data']
  title: string
  groups: ReadonlyMap<string, string>
}

function CheckResult({ result, title, groups }: CheckResultProps) {
  const text = useText(accessMessages)
  const where = (group: string | null) =>
    group === null ? text.inTenant : text.inThisGroup(groups.get(group) ?? group)
  const { allowed, because, accessGroup } = result
  return (
    <div className="card" role="status">
      <p className="card-lead">
        <StatusChip tone={allowed ? 'good' : 'warning'}>{allowed ? text.allowed : text.denied}</StatusChip>{' '}
        <strong>{title}</strong> {where(accessGroup)}
      </p>
      {allowed ? (
        <ul className="plain-list">
          {because.map(({ grant, role, accessGroup: granted }) => (
            <li key={grant}>{text.becauseRole(role, where(granted))}</li>
          ))}
        </ul>
      ) : (
        <DenialReason result={result} where={where} />
      )}
    </div>
  )
}

type DenialReasonProps = { result: CheckResultProps['result']; where: (group: string | null) => string }

/**
 * `DenialReason` explains why a permission is denied. It shows the assignments in other access groups, or the roles
 * that would give the permission.
 */
function DenialReason({ result: { principal, permission }, where }: DenialReasonProps) {
  const text = useText(accessMessages)
  const query = useOperationQuery()
  const roles = useRoles()
  const isDisabled = usePrincipals().find(({ id }) => id === principal)?.disabled === true
  const grants = useQuery(query(['authorization', 'listGrants'], { query: { principal, limit: 100 } }))
  const rolesWithPermission = roles
    .filter(({ permissions }) => permissions.includes(permission))
    .map(({ name }) => name)
  const elsewhere = grants.data?.data.filter(({ role }) => rolesWithPermission.includes(role)) ?? []
  if (isDisabled) return <p>{text.becauseDisabled}</p>
  if (elsewhere.length === 0) return <p>{text.becauseNone(rolesWithPermission.join(', '))}</p>
  return (
    <ul className="plain-list">
      {elsewhere.map(({ id, role, accessGroup }) => (
        <li key={id}>{text.becauseOnly(role, where(accessGroup))}</li>
      ))}
    </ul>
  )
}
