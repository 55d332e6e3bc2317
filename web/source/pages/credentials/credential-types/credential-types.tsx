import type { ListedCredentialSchema } from '@millwright/api/credentials-shapes.ts'
import { iconKey } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { useHasEntries } from '../../../components/tables/entries.ts'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { RowButton } from '../../../components/tables/row-link.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { JsonView } from '../../../components/values/json-view.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { linkTitle } from '../../discovery/built-in-links.ts'
import { credentialMessages } from '../messages.ts'
import { ImportDialog, UploadDialog } from './import-dialogs.tsx'

/**
 * `CredentialTypes` lists the credential types. A credential type defines the fields that an asset link requires for
 * the credentials of its devices.
 */
export function CredentialTypes() {
  const text = useText(credentialMessages)
  const formats = useFormats()
  const canWrite = usePermission('write_template')
  const [open, setOpen] = useState<ListedCredentialSchema | 'link' | 'upload'>()
  const pagedList = usePagedList(['credentials', 'listSchemas'], {}, { live: ['credentials'] })
  const close = () => setOpen(undefined)
  const buttons = canWrite && (
    <>
      <IxButton onClick={() => setOpen('link')}>{text.fromLink}</IxButton>
      <IxButton variant="secondary" onClick={() => setOpen('upload')}>
        {text.upload}
      </IxButton>
    </>
  )
  const hasEntries = useHasEntries(pagedList)
  return (
    <>
      {hasEntries && (
        <Toolbar count={text.typeCount(pagedList.total, formats.number(pagedList.total))}>{buttons}</Toolbar>
      )}
      {hasEntries && <p className="quiet section-note">{text.typeMeaning}</p>}
      <PagedTable
        label={text.schemas}
        pagedList={pagedList}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={setOpen}
        empty={
          <EmptyState icon={iconKey} title={text.noSchemas}>
            <p>{text.noSchemasHint}</p>
            <p className="quiet">{text.schemaExample}</p>
            <div className="form-actions">{buttons}</div>
          </EmptyState>
        }
      />
      {open === 'link' && <ImportDialog onClose={close} />}
      {open === 'upload' && <UploadDialog onClose={close} />}
      {typeof open === 'object' && <CredentialTypeDialog schema={open} canWrite={canWrite} onClose={close} />}
    </>
  )
}

type Text = (typeof credentialMessages)['en']

function columnsOf(text: Text): Column<ListedCredentialSchema>[] {
  return [
    {
      id: 'product',
      header: text.identifier,
      width: 300,
      cell: ({ resourceIdentifier }) => <RowButton>{linkTitle(resourceIdentifier)}</RowButton>,
    },
    { id: 'version', header: text.version, width: 120, cell: ({ resourceVersion }) => resourceVersion },
    { id: 'uri', header: text.uri, width: 360, cell: ({ uri }) => <code>{uri}</code> },
    {
      id: 'created',
      header: text.changed,
      width: 160,
      cell: (row) => <Time at={row.lastModifiedTimestamp} isRelative />,
    },
  ]
}

type CredentialTypeDialogProps = { schema: ListedCredentialSchema; canWrite: boolean; onClose: () => void }

function CredentialTypeDialog({
  schema: { id, resourceIdentifier, resourceVersion, uri },
  canWrite,
  onClose,
}: CredentialTypeDialogProps) {
  const text = useText(credentialMessages)
  const api = useApi()
  const query = useOperationQuery()
  const queryClient = useQueryClient()
  const schema = useQuery(query(['credentials', 'getSchema'], { params: { schemaId: id } }))
  const remove = async () => {
    await api.credentials.deleteSchema({ params: { schemaId: id } })
    await queryClient.invalidateQueries({ queryKey: keyOf('credentials', 'listSchemas') })
    showSuccess(text.removed)
    onClose()
  }
  return (
    <Dialog
      title={`${linkTitle(resourceIdentifier)} ${resourceVersion}`}
      onClose={onClose}
      isWide
      actions={
        canWrite && (
          <ConfirmButton
            action={text.remove}
            title={text.removeTitle(linkTitle(resourceIdentifier))}
            onConfirm={remove}
          >
            {text.removeSchema}
          </ConfirmButton>
        )
      }
    >
      <QueryState query={schema}>
        {({ data }) => (
          <KeyValueList
            items={[
              { name: 'ID', value: <code>{resourceIdentifier}</code> },
              { name: text.uri, value: <code>{uri}</code> },
              { name: text.changedBy, value: data.createdBy },
              { name: text.schema, value: <JsonView value={data.schema} /> },
            ]}
          />
        )}
      </QueryState>
    </Dialog>
  )
}
