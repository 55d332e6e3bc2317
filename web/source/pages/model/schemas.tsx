import { iconDocumentSettings } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAdding } from '../../app/adding.ts'
import type { Output } from '../../app/api.ts'
import { useFormats, useText } from '../../app/language-context.tsx'
import { usePaged } from '../../app/paged.ts'
import { keyOf, useOperationQuery } from '../../app/queries.ts'
import { useApi, useMay } from '../../app/visit.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import type { Column } from '../../components/data-table.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Facts } from '../../components/facts.tsx'
import { TextAreaField, TextField } from '../../components/fields.tsx'
import { Form } from '../../components/form.tsx'
import { objectInJson } from '../../components/json-text.ts'
import { JsonView } from '../../components/json-view.tsx'
import { PagedTable } from '../../components/paged-table.tsx'
import { QueryState } from '../../components/query-state.tsx'
import { StatusChip } from '../../components/status-chip.tsx'
import { toldDone } from '../../components/toast.ts'
import { Toolbar } from '../../components/toolbar.tsx'
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
