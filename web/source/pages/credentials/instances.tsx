import type { CredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { iconKey } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { useAdding } from '../../app/adding.ts'
import { useFormats, useText } from '../../app/language-context.tsx'
import { usePaged } from '../../app/paged.ts'
import { useSearchState } from '../../app/search.ts'
import { useMay } from '../../app/visit.tsx'
import type { Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { TextField } from '../../components/fields.tsx'
import { PagedTable } from '../../components/paged-table.tsx'
import { Time } from '../../components/time.tsx'
import { Toolbar } from '../../components/toolbar.tsx'
import { InstanceDialog } from './instance-dialog.tsx'
import { credentialMessages } from './messages.ts'

/** An address that is still being typed is no question yet. */
const looksWhole = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:.]+)$/i

/** Credentials without their secrets. */
export function Instances() {
  const text = useText(credentialMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const mayWrite = useMay('glb_credential_write')
  const [search, setSearch] = useSearchState<'address'>()
  const [isAdding, setAdding] = useAdding()
  const address = looksWhole.test(search.address ?? '') ? search.address : undefined
  const paged = usePaged(
    ['credentials', 'listInstances'],
    { query: { ...(address && { address }) } },
    { live: ['credentials'] },
  )
  return (
    <>
      <Toolbar count={text.count(paged.total, formats.number(paged.total))}>
        {mayWrite && <IxButton onClick={() => setAdding(true)}>{text.add}</IxButton>}
        <TextField
          label={text.addressFilter}
          isLabelUnseen
          type="search"
          placeholder={text.addressFilter}
          value={search.address ?? ''}
          onChange={(value) => setSearch({ address: value })}
        />
      </Toolbar>
      <PagedTable
        label={text.instances}
        paged={paged}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/credentials/${id}` })}
        empty={
          <EmptyState icon={iconKey} title={address === undefined ? text.none : text.noneFit}>
            {address === undefined && <p>{text.noneHint}</p>}
          </EmptyState>
        }
      />
      {isAdding && mayWrite && (
        <InstanceDialog onClose={() => setAdding(false)} onSaved={(id) => navigate({ to: `/credentials/${id}` })} />
      )}
    </>
  )
}

type Text = (typeof credentialMessages)['en']

function columnsOf(text: Text): Column<CredentialInstance>[] {
  return [
    { id: 'name', header: text.name, width: 220, cell: ({ name }) => name },
    { id: 'product', header: text.product, width: 240, cell: ({ resourceIdentifier }) => resourceIdentifier },
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
