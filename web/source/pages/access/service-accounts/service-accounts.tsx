import type { ServerUser } from '@millwright/api/identity.ts'
import { iconUserManagement } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useCreateDialog } from '../../../app/navigation/create-dialog-state.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { Time } from '../../../components/values/time.tsx'
import { accessMessages } from '../messages.ts'
import { ActiveState } from '../principal-actions.tsx'
import { type CreatedServiceAccount, SecretDialog } from './secret-dialog.tsx'

/** `ServiceAccounts` lists the service accounts. The API calls a service account a server user. */
export function ServiceAccounts() {
  const text = useText(accessMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const [isAdding, setAdding] = useCreateDialog()
  const [created, setCreated] = useState<CreatedServiceAccount>()
  const pagedList = usePagedList(['identity', 'listServerUsers'], {}, { live: ['identity.server-user'] })
  const closeSecret = () => {
    setCreated(undefined)
    if (created !== undefined) navigate({ to: `/access/programs/${created.id}` })
  }
  return (
    <>
      <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
        <IxButton onClick={() => setAdding(true)}>{text.addServiceAccount}</IxButton>
      </Toolbar>
      <PagedTable
        label={text.serviceAccounts}
        pagedList={pagedList}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/access/programs/${id}` })}
        empty={
          <EmptyState icon={iconUserManagement} title={text.noServiceAccounts}>
            <p>{text.noServiceAccountsHint}</p>
          </EmptyState>
        }
      />
      {isAdding && (
        <NewServiceAccountDialog
          onClose={() => setAdding(false)}
          onCreated={(serviceAccount) => {
            setAdding(false)
            setCreated(serviceAccount)
          }}
        />
      )}
      {created !== undefined && <SecretDialog created={created} onClose={closeSecret} />}
    </>
  )
}

type Text = (typeof accessMessages)['en']

function columnsOf(text: Text): Column<ServerUser>[] {
  return [
    { id: 'name', header: text.name, width: 260, cell: ({ name }) => name },
    { id: 'clientId', header: text.clientId, width: 320, cell: ({ clientId }) => <code>{clientId}</code> },
    { id: 'state', header: text.state, width: 140, cell: ({ disabled }) => <ActiveState isDisabled={disabled} /> },
    {
      id: 'secret',
      header: text.secretCreated,
      width: 180,
      cell: ({ secretCreatedTimestamp }) => <Time at={secretCreatedTimestamp} isRelative />,
    },
  ]
}

function NewServiceAccountDialog({
  onClose,
  onCreated,
}: {
  onClose: () => void
  onCreated: (created: CreatedServiceAccount) => void
}) {
  const text = useText(accessMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [name, setName] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const add = async () => {
    const { data } = await api.identity.createServerUser({ body: { data: { name: name.trim() } } })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listServerUsers') })
    onCreated(data)
  }
  const submit = () => {
    setSubmitted(true)
    return name.trim() === '' ? false : add()
  }
  return (
    <Dialog title={text.addServiceAccount} onClose={onClose}>
      <Form action={text.add} onSubmit={submit}>
        <TextField
          label={text.name}
          hint={text.serviceAccountHint}
          error={isSubmitted && name.trim() === '' ? text.required : undefined}
          isRequired
          value={name}
          onChange={setName}
        />
      </Form>
    </Dialog>
  )
}
