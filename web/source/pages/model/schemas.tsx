import { iconDocumentSettings } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Output } from '../../app/api/client.ts'
import { usePaged } from '../../app/api/paged-list.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useAdding } from '../../app/navigation/create-dialog-state.ts'
import { useApi, useMay } from '../../app/session/user-context.tsx'
import { CopyButton } from '../../components/actions/copy-button.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { toldDone } from '../../components/feedback/toast.ts'
import { TextAreaField, TextField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import { objectInJson } from '../../components/forms/json-object.ts'
import { EmptyState } from '../../components/page/empty-state.tsx'
import type { Column } from '../../components/tables/data-table.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { JsonView } from '../../components/values/json-view.tsx'
import { Facts } from '../../components/values/property-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { modelMessages } from './messages.ts'

type Schema = Output<'inventory', 'listSchemas'>['data'][number]

/** Schemas that assets can follow. */
export function Schemas() {
  const text = useText(modelMessages)
  const formats = useFormats()
  const mayWrite = useMay('glb_schema_write')
  const [isAdding, setAdding] = useAdding()
  const [open, setOpen] = useState<Schema>()
  const paged = usePaged(['inventory', 'listSchemas'], {}, { live: ['inventory.schema'] })
  return (
    <>
      <Toolbar count={text.count(paged.total, formats.number(paged.total))}>
        {mayWrite && <IxButton onClick={() => setAdding(true)}>{text.addSchema}</IxButton>}
      </Toolbar>
      <PagedTable
        label={text.schemas}
        paged={paged}
        columns={columnsOf(text)}
        idOf={({ url }) => url}
        onOpen={setOpen}
        empty={<EmptyState icon={iconDocumentSettings} title={text.schemas} />}
      />
      {open !== undefined && <SchemaDialog schema={open} onClose={() => setOpen(undefined)} />}
      {isAdding && mayWrite && <NewSchema onClose={() => setAdding(false)} />}
    </>
  )
}

type Text = (typeof modelMessages)['en']

function columnsOf(text: Text): Column<Schema>[] {
  return [
    { id: 'title', header: text.schemaTitle, width: 300, cell: ({ title }) => title },
    {
      id: 'kind',
      header: text.kind,
      width: 140,
      cell: ({ builtIn }) => <StatusChip>{builtIn ? text.builtIn : text.own}</StatusChip>,
    },
    { id: 'url', header: text.url, width: 560, cell: ({ url }) => <code>{url}</code> },
  ]
}

/** A schema with its document. It never changes: assets were checked against it. */
function SchemaDialog({ schema: { url, title, builtIn }, onClose }: { schema: Schema; onClose: () => void }) {
  const text = useText(modelMessages)
  const query = useOperationQuery()
  const read = useQuery(query(['inventory', 'readSchema'], { query: { url } }))
  return (
    <Dialog title={title} onClose={onClose} isWide>
      <Facts
        facts={[
          {
            name: text.url,
            value: (
              <span className="with-copy">
                <code>{url}</code>
                <CopyButton value={url} what={text.url} />
              </span>
            ),
          },
          { name: text.kind, value: <StatusChip>{builtIn ? text.builtIn : text.own}</StatusChip> },
        ]}
      />
      <h3 className="part-title">{text.document}</h3>
      <QueryState query={read}>{({ data }) => <JsonView value={data.schema} />}</QueryState>
    </Dialog>
  )
}

function NewSchema({ onClose }: { onClose: () => void }) {
  const text = useText(modelMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [url, setUrl] = useState('')
  const [document, setDocument] = useState('')
  const [isTold, setTold] = useState(false)
  const schema = objectInJson(document)
  const add = async (given: Record<string, unknown>) => {
    await api.inventory.createSchema({ body: { data: { url: url.trim(), schema: given } } })
    await queryClient.invalidateQueries({ queryKey: keyOf('inventory', 'listSchemas') })
    toldDone(text.saved)
    onClose()
  }
  const submit = () => {
    setTold(true)
    return url.trim() === '' || schema === undefined ? false : add(schema)
  }
  return (
    <Dialog title={text.addSchema} onClose={onClose}>
      <Form action={text.save} onSubmit={submit}>
        <TextField
          label={text.url}
          hint={text.urlHint}
          error={isTold && url.trim() === '' ? text.needed : undefined}
          type="url"
          isRequired
          value={url}
          onChange={setUrl}
        />
        <TextAreaField
          label={text.document}
          hint={text.documentHint}
          error={isTold && schema === undefined ? text.notJson : undefined}
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
