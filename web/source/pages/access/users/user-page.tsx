import type { User } from '@millwright/api/identity.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Navigate, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { isFailure } from '../../../app/api/failure.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { PrincipalGrants } from '../grants/principal-grants.tsx'
import { accessMessages } from '../messages.ts'
import { ActiveState, PrincipalActions } from '../principal-actions.tsx'
import { UserSessions } from '../sessions/user-sessions.tsx'
import { FactorState } from './factor-state.tsx'

/** `UserPage` shows a user, the assigned roles and the sessions. The id of a service account leads to its own page. */
export function UserPage() {
  const text = useText(accessMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const user = useQuery(query(['identity', 'readUser'], { params: { id } }, { live: ['identity.user'] }))
  const name = user.data?.data.displayName || user.data?.data.name || text.user
  usePageTitle(name)
  if (isFailure(user.error, 'not_found')) return <Navigate to={`/access/programs/${id}`} replace />
  return (
    <>
      <PageHeader
        title={name}
        above={<ParentLink to="/access">{text.all}</ParentLink>}
        actions={user.data !== undefined && <Actions user={user.data.data} />}
      />
      <QueryState query={user}>
        {({ data }) => (
          <div className="cards cards-two">
            <Card title={text.user}>
              <KeyValueList
                items={[
                  { name: text.signInName, value: data.name },
                  { name: text.displayName, value: data.displayName },
                  { name: text.state, value: <ActiveState isDisabled={data.disabled} /> },
                  { name: text.signsInWith, value: data.provider ?? text.local },
                  { name: text.secondFactor, value: <FactorState user={data} /> },
                  { name: text.lastSignIn, value: <Time at={data.lastSignInTimestamp} /> },
                  { name: text.created, value: <Time at={data.createdTimestamp} /> },
                ]}
              />
            </Card>
            <PrincipalGrants principal={{ id: data.id, name: data.name }} />
            <UserSessions user={{ id: data.id, name: data.name }} />
          </div>
        )}
      </QueryState>
    </>
  )
}

function Actions({ user }: { user: User }) {
  const { id, name, displayName, disabled, provider, hasSecondFactor } = user
  const text = useText(accessMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [isSetting, setSetting] = useState(false)
  const change = async (data: { disabled: boolean } | { password: string } | { displayName: string }) => {
    await api.identity.updateUser({ params: { id }, body: { data } })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity') })
  }
  const resetFactor = async () => {
    await api.identity.resetSecondFactor({ params: { id } })
    showSuccess(text.factorReset)
    await queryClient.invalidateQueries({ queryKey: keyOf('identity') })
  }
  const remove = async () => {
    await api.identity.deleteUser({ params: { id } })
    showSuccess(text.removed)
    await navigate({ to: '/access' })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listUsers') })
  }
  return (
    <>
      <PrincipalActions
        name={name}
        renamed={{ label: text.displayName, value: displayName }}
        onRename={(value) => change({ displayName: value })}
        isDisabled={disabled}
        onDisable={(isDisabled) => change({ disabled: isDisabled })}
        onRemove={remove}
      />
      {hasSecondFactor && (
        <ConfirmButton action={text.resetFactor} title={text.resetFactorTitle(name)} onConfirm={resetFactor}>
          {text.resetFactorDetail}
        </ConfirmButton>
      )}
      {provider === null && (
        <IxButton variant="secondary" onClick={() => setSetting(true)}>
          {text.setPassword}
        </IxButton>
      )}
      {isSetting && <PasswordDialog onSet={(password) => change({ password })} onClose={() => setSetting(false)} />}
    </>
  )
}

type PasswordDialogProps = { onSet: (password: string) => Promise<unknown>; onClose: () => void }

function PasswordDialog({ onSet, onClose }: PasswordDialogProps) {
  const text = useText(accessMessages)
  const [password, setPassword] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const set = async () => {
    await onSet(password)
    showSuccess(text.passwordSet)
    onClose()
  }
  const submit = () => {
    setSubmitted(true)
    return password === '' ? false : set()
  }
  return (
    <Dialog title={text.setPassword} onClose={onClose}>
      <Form action={text.save} onSubmit={submit}>
        <TextField
          label={text.newPassword}
          hint={text.passwordHint}
          error={isSubmitted && password === '' ? text.required : undefined}
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
