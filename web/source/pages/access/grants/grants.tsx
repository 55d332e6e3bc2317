import type { Grant } from '@millwright/api/authorization.ts'
import { iconUserManagement } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useGroupNames } from '../../../app/api/access-groups.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useCreateDialog } from '../../../app/navigation/create-dialog-state.ts'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { SelectField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { Time } from '../../../components/values/time.tsx'
import { useRoleChoices } from '../choices.ts'
import { accessMessages } from '../messages.ts'
import { GrantDialog } from './grant-dialog.tsx'
import { RevokeButton } from './revoke-button.tsx'

/** `Grants` lists all role assignments. */
export function Grants() {
  const text = useText(accessMessages)
  const formats = useFormats()
  const roles = useRoleChoices()
  const groups = useGroupNames()
  const [search, setSearch] = useSearchState<'role' | 'group'>()
  const [isAssigning, setAssigning] = useCreateDialog()
  const filters = {
    ...(search.role && { role: search.role }),
    ...(search.group && { accessGroup: search.group }),
  }
  const pagedList = usePagedList(['authorization', 'listGrants'], { query: filters }, { live: ['authorization.grant'] })
  return (
    <>
      <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
        <IxButton onClick={() => setAssigning(true)}>{text.addGrant}</IxButton>
        <SelectField
          label={text.role}
          isLabelUnseen
          value={search.role ?? ''}
          onChange={(role) => setSearch({ role })}
          choices={[{ value: '', label: text.anyRole }, ...roles]}
        />
        <SelectField
          label={text.where}
          isLabelUnseen
          value={search.group ?? ''}
          onChange={(group) => setSearch({ group })}
          choices={[
            { value: '', label: text.anyAccessGroup },
            ...[...groups].map(([value, label]) => ({ value, label })),
          ]}
        />
      </Toolbar>
      <PagedTable
        label={text.grants}
        pagedList={pagedList}
        columns={columnsOf(text, groups)}
        idOf={({ id }) => id}
        empty={<EmptyState icon={iconUserManagement} title={text.noMatchingGrants} />}
      />
      {isAssigning && <GrantDialog onClose={() => setAssigning(false)} />}
    </>
  )
}

type Text = (typeof accessMessages)['en']

function columnsOf(text: Text, groups: ReadonlyMap<string, string>): Column<Grant>[] {
  return [
    { id: 'who', header: text.principal, width: 260, cell: ({ principalName }) => withoutId(principalName) },
    { id: 'role', header: text.role, width: 200, cell: ({ role }) => role },
    {
      id: 'where',
      header: text.where,
      width: 240,
      cell: ({ accessGroup }) => (accessGroup === null ? text.everywhere : (groups.get(accessGroup) ?? accessGroup)),
    },
    { id: 'since', header: text.since, width: 180, cell: ({ createdTimestamp }) => <Time at={createdTimestamp} /> },
    { id: 'revoke', header: text.revoke, width: 200, cell: (grant) => <RevokeButton grant={grant} /> },
  ]
}

/** Returns the name of a gateway without the id in parentheses, which makes the names of principals unique. */
function withoutId(name: string): string {
  return name.replace(/ \([0-9a-f-]{36}\)$/, '')
}
