import type { ListedCredentialSchema } from '@millwright/api/credentials-shapes.ts'
import { iconKey } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePaged } from '../../../app/api/paged-list.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, useMay } from '../../../app/session/user-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { toldDone } from '../../../components/feedback/toast.ts'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { JsonView } from '../../../components/values/json-view.tsx'
import { Facts } from '../../../components/values/property-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { credentialMessages } from '../messages.ts'
import { FromLinkDialog, UploadDialog } from './import-dialogs.tsx'

/** What the devices of each link ask for. */
export function Schemas() {
  const text = useText(credentialMessages)
  const formats = useFormats()
  const mayWrite = useMay('write_template')
  const [open, setOpen] = useState<ListedCredentialSchema | 'link' | 'upload'>()
  const paged = usePaged(['credentials', 'listSchemas'], {}, { live: ['credentials'] })
  const close = () => setOpen(undefined)
  const add = mayWrite && <IxButton onClick={() => setOpen('link')}>{text.fromLink}</IxButton>
  return (
    <>
      <Toolbar count={text.count(paged.total, formats.number(paged.total))}>
        {add}
        {mayWrite && (
          <IxButton variant="secondary" onClick={() => setOpen('upload')}>
            {text.upload}
          </IxButton>
        )}
      </Toolbar>
      <PagedTable
        label={text.schemas}
        paged={paged}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={setOpen}
        empty={
          <EmptyState icon={iconKey} title={text.noSchemas}>
            <p>{text.noSchemasHint}</p>
          </EmptyState>
        }
      />
      {open === 'link' && <FromLinkDialog onClose={close} />}
      {open === 'upload' && <UploadDialog onClose={close} />}
      {typeof open === 'object' && <SchemaDialog schema={open} mayWrite={mayWrite} onClose={close} />}
    </>
  )
}

type Text = (typeof credentialMessages)['en']

function columnsOf(text: Text): Column<ListedCredentialSchema>[] {
  return [
    { id: 'product', header: text.identifier, width: 300, cell: ({ resourceIdentifier }) => resourceIdentifier },
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

type Given = { schema: ListedCredentialSchema; mayWrite: boolean; onClose: () => void }

function SchemaDialog({ schema: { id, resourceIdentifier, resourceVersion, uri }, mayWrite, onClose }: Given) {
  const text = useText(credentialMessages)
  const api = useApi()
  const query = useOperationQuery()
  const queryClient = useQueryClient()
  const schema = useQuery(query(['credentials', 'getSchema'], { params: { schemaId: id } }))
  const remove = async () => {
    await api.credentials.deleteSchema({ params: { schemaId: id } })
    await queryClient.invalidateQueries({ queryKey: keyOf('credentials', 'listSchemas') })
    toldDone(text.removed)
    onClose()
  }
  return (
    <Dialog
      title={`${resourceIdentifier} ${resourceVersion}`}
      onClose={onClose}
      isWide
      actions={
        mayWrite && (
          <ConfirmButton action={text.remove} title={text.removeTitle(resourceIdentifier)} onConfirm={remove}>
            {text.removeSchema}
          </ConfirmButton>
        )
      }
    >
      <QueryState query={schema}>
        {({ data }) => (
          <Facts
            facts={[
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
