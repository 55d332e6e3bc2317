import type { CustomProperty } from '@millwright/api/inventory/inventory.ts'
import { iconDocumentSettings } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { usePagedList } from '../../app/api/paged-list.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useCreateDialog } from '../../app/navigation/create-dialog-state.ts'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { SelectField, TextField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import type { Column } from '../../components/tables/data-table.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { RowButton } from '../../components/tables/row-link.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { Time } from '../../components/values/time.tsx'
import { modelMessages } from './messages.ts'

type DataType = CustomProperty['data_type']
const dataTypes: readonly DataType[] = ['text', 'number', 'boolean', 'date', 'url']

/** `Properties` lists, adds and edits the custom properties of the tenant. */
export function Properties() {
  const text = useText(modelMessages)
  const formats = useFormats()
  const canWrite = usePermission('glb_schema_write')
  const [open, setOpen] = useState<CustomProperty>()
  const [isAdding, setAdding] = useCreateDialog()
  const pagedList = usePagedList(['inventory', 'listCustomProperties'], {}, { live: ['inventory.custom-property'] })
  return (
    <>
      <p className="card-lead">{text.propertiesMeaning}</p>
      <Toolbar count={text.propertyCount(pagedList.total, formats.number(pagedList.total))}>
        {canWrite && <IxButton onClick={() => setAdding(true)}>{text.addProperty}</IxButton>}
      </Toolbar>
      <PagedTable
        label={text.properties}
        pagedList={pagedList}
        columns={columnsOf(text, canWrite)}
        idOf={({ key }) => key}
        {...(canWrite && { onOpen: setOpen })}
        empty={
          <EmptyState icon={iconDocumentSettings} title={text.noProperties}>
            <p>{text.noPropertiesHint}</p>
          </EmptyState>
        }
      />
      {isAdding && canWrite && <PropertyDialog onClose={() => setAdding(false)} />}
      {open !== undefined && <PropertyDialog property={open} onClose={() => setOpen(undefined)} />}
    </>
  )
}

type Text = (typeof modelMessages)['en']

function typeName(type: DataType, text: Text): string {
  return type === 'url' ? 'URL' : text[type]
}

function columnsOf(text: Text, canWrite: boolean): Column<CustomProperty>[] {
  return [
    {
      id: 'name',
      header: text.name,
      width: 320,
      cell: ({ name }) => (canWrite ? <RowButton>{name}</RowButton> : name),
    },
    { id: 'usage', header: text.usage, width: 220, cell: ({ key }) => <Usage propertyKey={key} /> },
    { id: 'type', header: text.type, width: 160, cell: ({ data_type: type }) => typeName(type, text) },
    { id: 'created', header: text.created, width: 200, cell: ({ createdTimestamp }) => <Time at={createdTimestamp} /> },
  ]
}

/** `Usage` shows how many assets have a value of a property, with a link to these assets. */
function Usage({ propertyKey }: { propertyKey: string }) {
  const text = useText(modelMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const filter = `custom_properties/${propertyKey} ne null`
  const { data } = useQuery({
    ...query(['inventory', 'listAssets'], { query: { filter, limit: 1, fields: 'id' } }),
    enabled: canRead,
  })
  const count = data?.meta.totalElements
  if (count === undefined) return null
  if (count === 0) return <span className="quiet">{text.unused}</span>
  return (
    <Link to="/assets" search={{ filter } as never}>
      {text.usedBy(count, formats.number(count))}
    </Link>
  )
}

function PropertyDialog({ property, onClose }: { property?: CustomProperty; onClose: () => void }) {
  const text = useText(modelMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [name, setName] = useState(property?.name ?? '')
  const [type, setType] = useState<DataType>(property?.data_type ?? 'text')
  const [isSubmitted, setSubmitted] = useState(false)
  const save = async () => {
    if (property === undefined) {
      await api.inventory.createCustomProperty({ body: { data: { name: name.trim(), data_type: type } } })
    } else {
      await api.inventory.updateCustomProperty({ params: { key: property.key }, body: { data: { name: name.trim() } } })
    }
    await queryClient.invalidateQueries({ queryKey: keyOf('inventory', 'listCustomProperties') })
    showSuccess(text.saved)
    onClose()
  }
  const submit = () => {
    setSubmitted(true)
    return name.trim() === '' ? false : save()
  }
  return (
    <Dialog title={property === undefined ? text.addProperty : text.editProperty} onClose={onClose}>
      <Form action={text.save} onSubmit={submit}>
        <TextField
          label={text.name}
          error={isSubmitted && name.trim() === '' ? text.required : undefined}
          isRequired
          value={name}
          onChange={setName}
        />
        {property === undefined && (
          <SelectField
            label={text.type}
            hint={text.typeHint}
            value={type}
            onChange={setType}
            choices={dataTypes.map((value) => ({ value, label: typeName(value, text) }))}
          />
        )}
      </Form>
    </Dialog>
  )
}
