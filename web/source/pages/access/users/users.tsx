import type { User } from '@millwright/api/identity.ts'
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
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { Time } from '../../../components/values/time.tsx'
import { accessMessages } from '../messages.ts'
import { ActiveState } from '../principal-actions.tsx'
import { FactorState } from './factor-state.tsx'

/** `Users` lists the users of the tenant. */
export function Users() {
  const text = useText(accessMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const [isAdding, setAdding] = useCreateDialog()
  const pagedList = usePagedList(['identity', 'listUsers'], {}, { live: ['identity.user'] })
  return (
    <>
      <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
        <IxButton onClick={() => setAdding(true)}>{text.addUser}</IxButton>
      </Toolbar>
      <PagedTable
        label={text.users}
        pagedList={pagedList}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/access/people/${id}` })}
        empty={null}
      />
      {isAdding && <NewUserDialog onClose={() => setAdding(false)} />}
    </>
  )
}

type Text = (typeof accessMessages)['en']

function columnsOf(text: Text): Column<User>[] {
  return [
    { id: 'name', header: text.signInName, width: 190, cell: ({ name }) => name },
    { id: 'displayName', header: text.displayName, width: 160, cell: ({ displayName }) => displayName },
    { id: 'state', header: text.state, width: 120, cell: ({ disabled }) => <ActiveState isDisabled={disabled} /> },
    {
      id: 'provider',
      header: text.signsInWith,
      width: 160,
      cell: ({ provider }) => provider ?? <span className="quiet">{text.local}</span>,
    },
    { id: 'secondFactor', header: text.secondFactor, width: 150, cell: (user) => <FactorState user={user} /> },
    {
      id: 'lastSignIn',
      header: text.lastSignIn,
      width: 180,
      cell: ({ lastSignInTimestamp }) => <Time at={lastSignInTimestamp} isRelative />,
    },
    { id: 'created', header: text.created, width: 180, cell: ({ createdTimestamp }) => <Time at={createdTimestamp} /> },
  ]
}

function NewUserDialog({ onClose }: { onClose: () => Promise<void> }) {
  const text = useText(accessMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [name, setName] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [password, setPassword] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const add = async () => {
    const body = {
      data: { name: name.trim(), password, ...(displayName.trim() && { displayName: displayName.trim() }) },
    }
    const { data } = await api.identity.createUser({ body })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listUsers') })
    await onClose()
    navigate({ to: `/access/people/${data.id}` })
  }
  const submit = () => {
    setSubmitted(true)
    return name.trim() === '' || password === '' ? false : add()
  }
  const missing = (value: string) => (isSubmitted && value.trim() === '' ? text.required : undefined)
  return (
    <Dialog title={text.addUser} onClose={onClose}>
      <Form action={text.add} onSubmit={submit}>
        <TextField
          label={text.signInName}
          hint={text.signInNameHint}
          error={missing(name)}
          isRequired
          value={name}
          onChange={setName}
        />
        <TextField label={text.displayName} value={displayName} onChange={setDisplayName} />
        <TextField
          label={text.password}
          hint={text.passwordHint}
          error={missing(password)}
          type="password"
          autoComplete="new-password"
          maxLength={256}
          isRequired
          value={password}
          onChange={setPassword}
        />
      </Form>
    </Dialog>
  )
}
