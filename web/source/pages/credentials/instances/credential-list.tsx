import type { CredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { iconKey } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
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
import { useCredentialTypes } from '../flow/credential-types.ts'
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
  const [product, setProduct] = useState<string>()
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
      {pagedList.total > 1 && <p className="quiet section-note">{text.overlap}</p>}
      <PagedTable
        label={text.instances}
        pagedList={pagedList}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/credentials/${id}` })}
        empty={
          address === undefined ? (
            <NoCredentials onAdd={() => setAdding(true)} onChoose={setProduct} />
          ) : (
            <EmptyState icon={iconKey} title={text.noMatches}>
              {canWrite && <IxButton onClick={() => setAdding(true)}>{text.add}</IxButton>}
            </EmptyState>
          )
        }
      />
      {isAdding && canWrite && (
        <CredentialFlow onClose={() => setAdding(false)} onDone={(id) => navigate({ to: `/credentials/${id}` })} />
      )}
      {product !== undefined && canWrite && (
        <CredentialFlow
          product={product}
          onClose={() => setProduct(undefined)}
          onDone={(id) => navigate({ to: `/credentials/${id}` })}
        />
      )}
    </>
  )
}

type NoCredentialsProps = { onAdd: () => unknown; onChoose: (product: string) => void }

/** `NoCredentials` explains why credentials are needed, and offers a button for each credential type. */
function NoCredentials({ onAdd, onChoose }: NoCredentialsProps) {
  const text = useText(credentialMessages)
  const canWrite = usePermission('glb_credential_write')
  const { types, isLoading } = useCredentialTypes()
  return (
    <EmptyState icon={iconKey} title={text.none} isAtStart>
      <p>{text.noneHint}</p>
      {canWrite && !isLoading && types.length > 0 && (
        <>
          <p>{text.chooseType}</p>
          <div className="notice-actions">
            {types.map(({ product, name }) => (
              <IxButton key={product} variant="secondary" onClick={() => onChoose(product)}>
                {name}
              </IxButton>
            ))}
          </div>
          <p className="quiet">
            {text.otherTypes} <Link to="/discovery">{text.toGateways}</Link>
          </p>
        </>
      )}
      {canWrite && <IxButton onClick={onAdd}>{text.add}</IxButton>}
    </EmptyState>
  )
}

type Text = (typeof credentialMessages)['en']

function columnsOf(text: Text): Column<CredentialInstance>[] {
  return [
    {
      id: 'name',
      header: text.name,
      width: 220,
      cell: ({ id, name }) => <Link to={`/credentials/${id}`}>{name}</Link>,
    },
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
