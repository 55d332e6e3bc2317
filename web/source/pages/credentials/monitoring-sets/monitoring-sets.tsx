import type { InstancesTemplate } from '@millwright/api/credentials-shapes.ts'
import { iconKey } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useCreateDialog } from '../../../app/navigation/create-dialog-state.ts'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { useHasEntries } from '../../../components/tables/entries.ts'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { RowButton } from '../../../components/tables/row-link.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { Time } from '../../../components/values/time.tsx'
import { credentialMessages } from '../messages.ts'
import { MonitoringSetDialog } from './monitoring-set-dialog.tsx'

/** `MonitoringSets` lists the monitoring sets, which are groups of credentials for monitoring applications. */
export function MonitoringSets() {
  const text = useText(credentialMessages)
  const formats = useFormats()
  const canWrite = usePermission('glb_credential_write')
  const [open, setOpen] = useState<InstancesTemplate>()
  const [isAdding, setAdding] = useCreateDialog()
  const pagedList = usePagedList(['credentials', 'listInstancesTemplates'], {}, { live: ['credentials'] })
  const hasEntries = useHasEntries(pagedList)
  return (
    <>
      {hasEntries && (
        <Toolbar count={text.setCount(pagedList.total, formats.number(pagedList.total))}>
          {canWrite && <IxButton onClick={() => setAdding(true)}>{text.addTemplate}</IxButton>}
        </Toolbar>
      )}
      {hasEntries && <p className="quiet card-lead">{text.templateMeaning}</p>}
      <PagedTable
        label={text.templates}
        pagedList={pagedList}
        columns={columnsOf(text).filter(
          ({ id }) => id !== 'description' || pagedList.rows.some(({ description }) => description),
        )}
        idOf={({ id }) => id}
        onOpen={setOpen}
        empty={
          <EmptyState icon={iconKey} title={text.noTemplates}>
            <p>{text.noTemplatesHint}</p>
            {canWrite && <IxButton onClick={() => setAdding(true)}>{text.addTemplate}</IxButton>}
          </EmptyState>
        }
      />
      {isAdding && canWrite && (
        <NewMonitoringSetDialog
          onClose={() => setAdding(false)}
          onCreated={(template) => {
            setAdding(false)
            setOpen(template)
          }}
        />
      )}
      {open !== undefined && (
        <MonitoringSetDialog template={open} canWrite={canWrite} onClose={() => setOpen(undefined)} />
      )}
    </>
  )
}

type Text = (typeof credentialMessages)['en']

function columnsOf(text: Text): Column<InstancesTemplate>[] {
  return [
    { id: 'name', header: text.name, width: 260, cell: ({ name }) => <RowButton>{name}</RowButton> },
    { id: 'description', header: text.description, width: 360, cell: ({ description }) => description },
    { id: 'instances', header: text.instances, width: 130, isNumber: true, cell: ({ instances }) => instances },
    {
      id: 'changed',
      header: text.changed,
      width: 180,
      cell: (row) => <Time at={row.lastModifiedTimestamp} isRelative />,
    },
  ]
}

function NewMonitoringSetDialog({
  onClose,
  onCreated,
}: {
  onClose: () => void
  onCreated: (template: InstancesTemplate) => void
}) {
  const text = useText(credentialMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const save = async () => {
    const data = { name: name.trim(), ...(description.trim() && { description: description.trim() }) }
    const created = await api.credentials.createInstancesTemplate({ body: { data } })
    await queryClient.invalidateQueries({ queryKey: keyOf('credentials', 'listInstancesTemplates') })
    showSuccess(text.saved)
    onCreated(created.data)
  }
  const submit = () => {
    setSubmitted(true)
    return name.trim() === '' ? false : save()
  }
  return (
    <Dialog title={text.addTemplate} onClose={onClose}>
      <Form action={text.save} onSubmit={submit}>
        <TextField
          label={text.name}
          error={isSubmitted && name.trim() === '' ? text.required : undefined}
          isRequired
          value={name}
          onChange={setName}
        />
        <TextAreaField label={text.description} rows={2} value={description} onChange={setDescription} />
      </Form>
    </Dialog>
  )
}
