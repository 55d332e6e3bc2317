import type { AccessGroup } from '@millwright/api/authorization.ts'
import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePagedList } from '../../app/api/paged-list.ts'
import { keyOf } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useCreateDialog } from '../../app/navigation/create-dialog-state.ts'
import { useApi } from '../../app/session/app-context.tsx'
import { ConfirmButton } from '../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { TextField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import type { Column } from '../../components/tables/data-table.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { Time } from '../../components/values/time.tsx'
import { accessMessages } from './messages.ts'

/** `AccessGroups` lists and edits access groups. */
export function AccessGroups() {
  const text = useText(accessMessages)
  const formats = useFormats()
  const [edited, setEdited] = useState<AccessGroup>()
  const [isAdding, setAdding] = useCreateDialog()
  const pagedList = usePagedList(['authorization', 'listAccessGroups'], {}, { live: ['authorization.access-group'] })
  return (
    <>
      <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
        <IxButton onClick={() => setAdding(true)}>{text.addGroup}</IxButton>
      </Toolbar>
      <PagedTable
        label={text.groups}
        pagedList={pagedList}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={setEdited}
        empty={null}
      />
      {isAdding && <GroupDialog onClose={() => setAdding(false)} />}
      {edited !== undefined && <GroupDialog group={edited} onClose={() => setEdited(undefined)} />}
    </>
  )
}

type Text = (typeof accessMessages)['en']

function columnsOf(text: Text): Column<AccessGroup>[] {
  return [
    { id: 'name', header: text.name, width: 320, cell: ({ name }) => name },
    { id: 'created', header: text.created, width: 200, cell: ({ createdTimestamp }) => <Time at={createdTimestamp} /> },
    { id: 'id', header: 'ID', width: 340, cell: ({ id }) => <code>{id}</code> },
  ]
}

function GroupDialog({ group, onClose }: { group?: AccessGroup; onClose: () => void }) {
  const text = useText(accessMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [name, setName] = useState(group?.name ?? '')
  const [isSubmitted, setSubmitted] = useState(false)
  const renew = async (message: string) => {
    await queryClient.invalidateQueries({ queryKey: keyOf('authorization') })
    showSuccess(message)
    onClose()
  }
  const save = async () => {
    const body = { data: { name: name.trim() } }
    if (group === undefined) await api.authorization.createAccessGroup({ body })
    else await api.authorization.updateAccessGroup({ params: { id: group.id }, body })
    await renew(text.saved)
  }
  const remove = async (id: string) => {
    await api.authorization.deleteAccessGroup({ params: { id } })
    await renew(text.removed)
  }
  const submit = () => {
    setSubmitted(true)
    return name.trim() === '' ? false : save()
  }
  if (group?.name === defaultAccessGroup) {
    return (
      <Dialog title={group.name} onClose={onClose}>
        <p>{text.groupStays}</p>
      </Dialog>
    )
  }
  return (
    <Dialog title={group?.name ?? text.addGroup} onClose={onClose}>
      <Form
        action={text.save}
        onSubmit={submit}
        extraActions={
          group !== undefined && (
            <ConfirmButton action={text.remove} title={text.removeTitle(group.name)} onConfirm={() => remove(group.id)}>
              {text.removeGroup}
            </ConfirmButton>
          )
        }
      >
        <TextField
          label={text.name}
          error={isSubmitted && name.trim() === '' ? text.required : undefined}
          isRequired
          value={name}
          onChange={setName}
        />
      </Form>
    </Dialog>
  )
}
