import type { ServerUser } from '@millwright/api/identity.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { CheckField } from '../../../components/forms/fields.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { PrincipalGrants } from '../grants/principal-grants.tsx'
import { accessMessages } from '../messages.ts'
import { ActiveState, PrincipalActions } from '../principal-actions.tsx'
import { type CreatedServiceAccount, SecretDialog } from './secret-dialog.tsx'

/** `ServiceAccountPage` shows the client id, the age of the secret and the roles of a service account. */
export function ServiceAccountPage() {
  const text = useText(accessMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const serviceAccount = useQuery(query(['identity', 'readServerUser'], { params: { id } }, { live: ['identity'] }))
  const name = serviceAccount.data?.data.name ?? text.serviceAccount
  usePageTitle(name)
  return (
    <>
      <PageHeader
        title={name}
        above={
          <ParentLink to="/access" search={{ view: 'programs' }}>
            {text.all}
          </ParentLink>
        }
        actions={serviceAccount.data !== undefined && <Actions serviceAccount={serviceAccount.data.data} />}
      />
      <QueryState query={serviceAccount}>
        {({ data }) => (
          <div className="cards cards-two">
            <Card title={text.serviceAccount}>
              <KeyValueList
                items={[
                  { name: text.name, value: data.name },
                  { name: text.clientId, value: <code>{data.clientId}</code> },
                  { name: text.state, value: <ActiveState isDisabled={data.disabled} /> },
                  { name: text.secretCreated, value: <Time at={data.secretCreatedTimestamp} /> },
                  { name: text.created, value: <Time at={data.createdTimestamp} /> },
                ]}
              />
            </Card>
            <PrincipalGrants principal={{ id: data.id, name: data.name }} />
          </div>
        )}
      </QueryState>
    </>
  )
}

function Actions({ serviceAccount: { id, name, disabled } }: { serviceAccount: ServerUser }) {
  const text = useText(accessMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [created, setCreated] = useState<CreatedServiceAccount>()
  const [revokeTokens, setRevokeTokens] = useState(false)
  const renew = () => queryClient.invalidateQueries({ queryKey: keyOf('identity') })
  const change = async (data: { disabled: boolean } | { name: string }) => {
    await api.identity.updateServerUser({ params: { id }, body: { data } })
    await renew()
  }
  const remove = async () => {
    await api.identity.deleteServerUser({ params: { id } })
    showSuccess(text.removed)
    await navigate({ to: '/access', search: { view: 'programs' } })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listServerUsers') })
  }
  const rotate = async () => {
    setCreated((await api.identity.rotateServerUserSecret({ params: { id }, body: { data: { revokeTokens } } })).data)
    await renew()
  }
  return (
    <>
      <PrincipalActions
        name={name}
        renamed={{ label: text.name, value: name }}
        onRename={(value) => change({ name: value })}
        isDisabled={disabled}
        onDisable={(isDisabled) => change({ disabled: isDisabled })}
        onRemove={remove}
      />
      <ConfirmButton action={text.rotate} title={text.rotateTitle(name)} onConfirm={rotate}>
        {text.rotateDetail}
        <CheckField label={text.revokeTokens} isChecked={revokeTokens} onChange={setRevokeTokens} />
      </ConfirmButton>
      {created !== undefined && <SecretDialog created={created} onClose={() => setCreated(undefined)} />}
    </>
  )
}
