import type { CredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { iconKey } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useCreateDialog } from '../../../app/navigation/create-dialog-state.ts'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { useHasEntries } from '../../../components/tables/entries.ts'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { Time } from '../../../components/values/time.tsx'
import { linkTitle } from '../../discovery/built-in-links.ts'
import { CredentialFlow } from '../flow/credential-flow.tsx'
import { credentialMessages } from '../messages.ts'

/** Matches a complete IP address. An incomplete address is not sent as a filter, because the API would reject it. */
const completeAddress = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:.]+)$/i

/** `CredentialList` lists credentials without their secrets. */
export function CredentialList() {
  const text = useText(credentialMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const canWrite = usePermission('glb_credential_write')
  const [search, setSearch] = useSearchState<'address'>()
  const [isAdding, setAdding] = useCreateDialog()
  const address = completeAddress.test(search.address ?? '') ? search.address : undefined
  const pagedList = usePagedList(
    ['credentials', 'listInstances'],
    { query: { ...(address && { address }) } },
    { live: ['credentials'] },
  )
  const hasEntries = useHasEntries(pagedList, (search.address ?? '') !== '')
  return (
    <>
      {hasEntries && (
        <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
          {canWrite && <IxButton onClick={() => setAdding(true)}>{text.add}</IxButton>}
          <TextField
            label={text.addressFilter}
            isLabelUnseen
            type="search"
            placeholder={text.addressFilter}
            value={search.address ?? ''}
            onChange={(value) => setSearch({ address: value })}
          />
        </Toolbar>
      )}
      <PagedTable
        label={text.instances}
        pagedList={pagedList}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/credentials/${id}` })}
        empty={
          <EmptyState icon={iconKey} title={address === undefined ? text.none : text.noMatches}>
            {address === undefined && <p>{text.noneHint}</p>}
            {canWrite && <IxButton onClick={() => setAdding(true)}>{text.add}</IxButton>}
          </EmptyState>
        }
      />
      {isAdding && canWrite && (
        <CredentialFlow onClose={() => setAdding(false)} onDone={(id) => navigate({ to: `/credentials/${id}` })} />
      )}
    </>
  )
}

type Text = (typeof credentialMessages)['en']

function columnsOf(text: Text): Column<CredentialInstance>[] {
  return [
    { id: 'name', header: text.name, width: 220, cell: ({ name }) => name },
    {
      id: 'product',
      header: text.product,
      width: 240,
      cell: ({ resourceIdentifier }) => linkTitle(resourceIdentifier),
    },
    { id: 'ranges', header: text.ranges, width: 260, cell: ({ metadata }) => metadata.ipRanges.join(', ') },
    { id: 'purpose', header: text.purpose, width: 230, cell: ({ metadata }) => text[metadata.purpose ?? 'both'] },
    {
      id: 'changed',
      header: text.changed,
      width: 160,
      cell: ({ lastModifiedTimestamp }) => <Time at={lastModifiedTimestamp} isRelative />,
    },
  ]
}
