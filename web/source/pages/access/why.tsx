import type { Permission } from '@millwright/api/permission.ts'
import { useQuery } from '@tanstack/react-query'
import { useGroupNames } from '../../app/access-groups.ts'
import type { Output } from '../../app/api.ts'
import { useText } from '../../app/language-context.tsx'
import { useOperationQuery } from '../../app/queries.ts'
import { useSearchState } from '../../app/search.ts'
import { Facts } from '../../components/facts.tsx'
import { SelectField } from '../../components/fields.tsx'
import { QueryState } from '../../components/query-state.tsx'
import { StatusChip } from '../../components/status-chip.tsx'
import { usePermissions, usePrincipalChoices } from './choices.ts'
import { accessMessages } from './messages.ts'

/** May somebody do something, and through which grants? */
export function Why() {
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
    ...query(['authorization', 'check'], {
      query: { permission, ...(principal && { principal }), ...(search.group && { accessGroup: search.group }) },
    }),
    enabled: principal !== undefined,
  })
  return (
    <>
      <p className="card-lead quiet">{text.whyIntro}</p>
      <div className="question">
        <SelectField
          label={text.who}
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
      <QueryState query={checked}>{({ data }) => <Verdict verdict={data} groups={groups} />}</QueryState>
    </>
  )
}

type VerdictGiven = { verdict: Output<'authorization', 'check'>['data']; groups: ReadonlyMap<string, string> }

function Verdict({ verdict: { allowed, explanation, because }, groups }: VerdictGiven) {
  const text = useText(accessMessages)
  return (
    <div className="card" role="status">
      <p className="card-lead">
        <StatusChip tone={allowed ? 'good' : 'warning'}>{allowed ? text.mayYes : text.mayNo}</StatusChip>
      </p>
      <p>{explanation}</p>
      <Facts
        facts={because.map(({ grant, role, accessGroup }) => ({
          name: text.because,
          value: `${role}, ${accessGroup === null ? text.everywhere : (groups.get(accessGroup) ?? accessGroup)} (${grant})`,
        }))}
      />
    </div>
  )
}
