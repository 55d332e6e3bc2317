import type { User } from '@millwright/api/identity.ts'
import { iconWarning } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useCreateDialog } from '../../../app/navigation/create-dialog-state.ts'
import { useApi, useAppContext } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { Time } from '../../../components/values/time.tsx'
import { accessMessages } from '../messages.ts'
import { ActiveState } from '../principal-actions.tsx'
import { FactorState } from './factor-state.tsx'

/** `Users` lists the users of the tenant. */
export function Users() {
  const text = useText(accessMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const { user } = useAppContext()
  const [isAdding, setAdding] = useCreateDialog()
  const pagedList = usePagedList(['identity', 'listUsers'], {}, { live: ['identity.user'] })
  const administrators = useAdministrators()
  const unprotected = pagedList.rows.filter(
    ({ id, provider, hasSecondFactor, disabled }) =>
      provider === null && !hasSecondFactor && !disabled && administrators.has(id),
  )
  return (
    <>
      <Toolbar count={text.userCount(pagedList.total, formats.number(pagedList.total))}>
        <IxButton onClick={() => setAdding(true)}>{text.addUser}</IxButton>
      </Toolbar>
      {unprotected.length > 0 && (
        <div className="notice" data-tone="warning" role="status">
          <Icon name={iconWarning} />
          <div>
            <p>
              <span className="notice-title">{text.unprotected(unprotected.length)}</span>{' '}
              {unprotected.map(({ name }) => name).join(', ')}
            </p>
            <div className="notice-actions">
              {unprotected.some(({ id }) => id === user.sub) && (
                <IxButton onClick={() => navigate({ to: '/account', search: { view: 'security' } as never })}>
                  {text.toSecurity}
                </IxButton>
              )}
              <IxButton
                variant="secondary"
                onClick={() => navigate({ to: '/access', search: { view: 'policy' } as never })}
              >
                {text.requireFactor}
              </IxButton>
            </div>
          </div>
        </div>
      )}
      <PagedTable
        label={text.users}
        pagedList={pagedList}
        columns={columnsOf(text, administrators)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/access/people/${id}` })}
        empty={null}
      />
      {isAdding && <NewUserDialog onClose={() => setAdding(false)} />}
    </>
  )
}

/** Returns the ids of the users with the role administrator in the tenant or in an access group. */
function useAdministrators(): ReadonlySet<string> {
  const query = useOperationQuery()
  const input = { query: { role: 'administrator', limit: 100 } }
  const { data } = useQuery(query(['authorization', 'listGrants'], input, { live: ['authorization.grant'] }))
  return new Set(data?.data.map(({ principal }) => principal))
}

/** `UserRoles` shows the roles of a user, in the tenant and in access groups. */
function UserRoles({ userId }: { userId: string }) {
  const query = useOperationQuery()
  const input = { query: { principal: userId, limit: 100 } }
  const { data } = useQuery(query(['authorization', 'listGrants'], input, { live: ['authorization.grant'] }))
  const roles = [...new Set(data?.data.map(({ role }) => role))].join(', ')
  return data !== undefined && roles === '' ? <span className="quiet">–</span> : <span title={roles}>{roles}</span>
}

type Text = (typeof accessMessages)['en']

function columnsOf(text: Text, administrators: ReadonlySet<string>): Column<User>[] {
  return [
    {
      id: 'name',
      header: text.signInName,
      width: 130,
      cell: ({ id, name }) => <Link to={`/access/people/${id}`}>{name}</Link>,
    },
    { id: 'displayName', header: text.displayName, width: 125, cell: ({ displayName }) => displayName },
    { id: 'roles', header: text.roles, width: 155, cell: ({ id }) => <UserRoles userId={id} /> },
    { id: 'state', header: text.state, width: 105, cell: ({ disabled }) => <ActiveState isDisabled={disabled} /> },
    {
      id: 'provider',
      header: text.signsInWith,
      width: 125,
      cell: ({ provider }) => provider ?? <span className="quiet">{text.local}</span>,
    },
    {
      id: 'secondFactor',
      header: text.secondFactor,
      width: 150,
      cell: (user) => <FactorState user={user} isRequired={administrators.has(user.id)} />,
    },
    {
      id: 'lastSignIn',
      header: text.lastSignIn,
      width: 145,
      cell: ({ lastSignInTimestamp }) => <Time at={lastSignInTimestamp} isRelative />,
    },
    { id: 'created', header: text.created, width: 170, cell: ({ createdTimestamp }) => <Time at={createdTimestamp} /> },
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
