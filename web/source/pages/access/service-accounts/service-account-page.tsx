import type { ServerUser } from '@millwright/api/identity.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/user-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { toldDone } from '../../../components/feedback/toast.ts'
import { CheckField } from '../../../components/forms/fields.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { Facts } from '../../../components/values/property-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { GrantsOf } from '../grants/principal-grants.tsx'
import { accessMessages } from '../messages.ts'
import { ActiveState, PrincipalActions } from '../principal-actions.tsx'
import { type Made, SecretDialog } from './secret-dialog.tsx'

/** One program: its client id, its secret's age, what it holds. */
export function ProgramPage() {
  const text = useText(accessMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const program = useQuery(query(['identity', 'readServerUser'], { params: { id } }, { live: ['identity'] }))
  const name = program.data?.data.name ?? text.program
  usePageTitle(name)
  return (
    <>
      <PageHeader
        title={name}
        above={
          <Link to="/access" search={{ view: 'programs' }}>
            {text.all}
          </Link>
        }
        actions={program.data !== undefined && <Actions program={program.data.data} />}
      />
      <QueryState query={program}>
        {({ data }) => (
          <div className="cards cards-two">
            <Card title={text.program}>
              <Facts
                facts={[
                  { name: text.name, value: data.name },
                  { name: text.clientId, value: <code>{data.clientId}</code> },
                  { name: text.state, value: <ActiveState isDisabled={data.disabled} /> },
                  { name: text.secretMade, value: <Time at={data.secretCreatedTimestamp} /> },
                  { name: text.created, value: <Time at={data.createdTimestamp} /> },
                ]}
              />
            </Card>
            <GrantsOf principal={{ id: data.id, name: data.name }} />
          </div>
        )}
      </QueryState>
    </>
  )
}

function Actions({ program: { id, name, disabled } }: { program: ServerUser }) {
  const text = useText(accessMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [made, setMade] = useState<Made>()
  const [revokeTokens, setRevokeTokens] = useState(false)
  const renew = () => queryClient.invalidateQueries({ queryKey: keyOf('identity') })
  const change = async (data: { disabled: boolean } | { name: string }) => {
    await api.identity.updateServerUser({ params: { id }, body: { data } })
    await renew()
  }
  const remove = async () => {
    await api.identity.deleteServerUser({ params: { id } })
    toldDone(text.removed)
    await navigate({ to: '/access', search: { view: 'programs' } })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listServerUsers') })
  }
  const rotate = async () => {
    setMade((await api.identity.rotateServerUserSecret({ params: { id }, body: { data: { revokeTokens } } })).data)
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
      {made !== undefined && <SecretDialog made={made} onClose={() => setMade(undefined)} />}
    </>
  )
}
