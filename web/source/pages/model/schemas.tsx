import { iconDocumentSettings } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Output } from '../../app/api/client.ts'
import { usePagedList } from '../../app/api/paged-list.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useCreateDialog } from '../../app/navigation/create-dialog-state.ts'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { CopyButton } from '../../components/actions/copy-button.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { TextAreaField, TextField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import { parseJsonObject } from '../../components/forms/json-object.ts'
import { EmptyState } from '../../components/page/empty-state.tsx'
import type { Column } from '../../components/tables/data-table.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { RowButton } from '../../components/tables/row-link.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { JsonView } from '../../components/values/json-view.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { modelMessages } from './messages.ts'

type Schema = Output<'inventory', 'listSchemas'>['data'][number]

/** `Schemas` lists the asset schemas and adds new schemas. */
export function Schemas() {
  const text = useText(modelMessages)
  const formats = useFormats()
  const canWrite = usePermission('glb_schema_write')
  const [isAdding, setAdding] = useCreateDialog()
  const [open, setOpen] = useState<Schema>()
  const pagedList = usePagedList(['inventory', 'listSchemas'], {}, { live: ['inventory.schema'] })
  return (
    <>
      <p className="card-lead">{text.schemasMeaning}</p>
      <Toolbar count={text.schemaCount(pagedList.total, formats.number(pagedList.total))}>
        {canWrite && <IxButton onClick={() => setAdding(true)}>{text.addSchema}</IxButton>}
      </Toolbar>
      <PagedTable
        label={text.schemas}
        pagedList={pagedList}
        columns={columnsOf(text)}
        idOf={({ url }) => url}
        onOpen={setOpen}
        empty={<EmptyState icon={iconDocumentSettings} title={text.schemas} />}
      />
      {open !== undefined && <SchemaDialog schema={open} onClose={() => setOpen(undefined)} />}
      {isAdding && canWrite && <NewSchemaDialog onClose={() => setAdding(false)} />}
    </>
  )
}

type Text = (typeof modelMessages)['en']

function columnsOf(text: Text): Column<Schema>[] {
  return [
    { id: 'title', header: text.schemaTitle, width: 200, cell: ({ title }) => <RowButton>{title}</RowButton> },
    {
      id: 'kind',
      header: text.kind,
      width: 140,
      cell: ({ builtIn }) => <StatusChip>{builtIn ? text.builtIn : text.custom}</StatusChip>,
    },
    { id: 'url', header: text.url, width: 780, cell: ({ url }) => <code>{url}</code> },
  ]
}

/**
 * `SchemaDialog` shows a schema with its document. A schema cannot be edited, because assets were validated against it.
 */
function SchemaDialog({ schema: { url, title, builtIn }, onClose }: { schema: Schema; onClose: () => void }) {
  const text = useText(modelMessages)
  const query = useOperationQuery()
  const read = useQuery(query(['inventory', 'readSchema'], { query: { url } }))
  return (
    <Dialog title={title} onClose={onClose} isWide>
      <KeyValueList
        items={[
          {
            name: text.url,
            value: (
              <span className="with-copy">
                <code>{url}</code>
                <CopyButton value={url} label={text.url} />
              </span>
            ),
          },
          { name: text.kind, value: <StatusChip>{builtIn ? text.builtIn : text.custom}</StatusChip> },
        ]}
      />
      <h3 className="part-title">{text.document}</h3>
      <QueryState query={read}>{({ data }) => <JsonView value={data.schema} />}</QueryState>
    </Dialog>
  )
}

function NewSchemaDialog({ onClose }: { onClose: () => void }) {
  const text = useText(modelMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [url, setUrl] = useState('')
  const [document, setDocument] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const schema = parseJsonObject(document)
  const add = async (document: Record<string, unknown>) => {
    await api.inventory.createSchema({ body: { data: { url: url.trim(), schema: document } } })
    await queryClient.invalidateQueries({ queryKey: keyOf('inventory', 'listSchemas') })
    showSuccess(text.saved)
    onClose()
  }
  const submit = () => {
    setSubmitted(true)
    return url.trim() === '' || schema === undefined ? false : add(schema)
  }
  return (
    <Dialog title={text.addSchema} onClose={onClose}>
      <Form action={text.save} onSubmit={submit}>
        <TextField
          label={text.url}
          hint={text.urlHint}
          error={isSubmitted && url.trim() === '' ? text.required : undefined}
          type="url"
          isRequired
          value={url}
          onChange={setUrl}
        />
        <TextAreaField
          label={text.document}
          hint={text.documentHint}
          error={isSubmitted && schema === undefined ? text.notJson : undefined}
          isRequired
          isCode
          rows={10}
          value={document}
          onChange={setDocument}
        />
      </Form>
    </Dialog>
  )
}
