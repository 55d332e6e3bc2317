import type { IdentityProvider } from '@millwright/api/identity-providers.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Output } from '../../../app/api/client.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Card } from '../../../components/page/card.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { accessMessages } from '../messages.ts'
import { ActiveState } from '../principal-actions.tsx'
import { MappingCard } from './mapping-card.tsx'
import { providerMessages } from './messages.ts'
import { ProviderDialog } from './provider-dialog.tsx'
import type { ChangeProvider } from './provider-form.ts'

/** `ProviderPage` shows an identity provider, and which roles its groups grant. */
export function ProviderPage() {
  const text = useText(providerMessages)
  const { all } = useText(accessMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const provider = useQuery(query(['identity', 'readIdentityProvider'], { params: { id } }, { live: ['identity'] }))
  const change = useProviderChange(id)
  const title = provider.data?.data.title ?? text.provider
  usePageTitle(title)
  return (
    <>
      <PageHeader
        title={title}
        above={
          <ParentLink to="/access" search={{ view: 'providers' }}>
            {all}
          </ParentLink>
        }
        actions={provider.data !== undefined && <Actions provider={provider.data.data} onChange={change} />}
      />
      <QueryState query={provider}>
        {({ data }) => (
          <div className="cards cards-two">
            <SettingsCard provider={data} />
            <Card title={text.register}>
              <p className="quiet card-lead">{text.registerText}</p>
              <KeyValueList
                items={[
                  {
                    name: text.redirectUri,
                    value: <CopyableAddress value={data.redirectUri} label={text.redirectUri} />,
                  },
                  {
                    name: text.afterSignOut,
                    value: <CopyableAddress value={afterSignOutAddress(data)} label={text.afterSignOut} />,
                  },
                  {
                    name: text.logoutUri,
                    value: <CopyableAddress value={data.backchannelLogoutUri} label={text.logoutUri} />,
                  },
                ]}
              />
            </Card>
            <MappingCard provider={data} onChange={change} />
            <CheckCard id={data.id} />
          </div>
        )}
      </QueryState>
    </>
  )
}

/** Returns a function that changes the provider and refreshes the pages that show it. */
function useProviderChange(id: string): ChangeProvider {
  const api = useApi()
  const queryClient = useQueryClient()
  return async (data, etag) => {
    await api.identity.updateIdentityProvider({ params: { id }, body: { data }, headers: { 'if-match': etag } })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity') })
  }
}

type ActionsProps = { provider: IdentityProvider; onChange: ChangeProvider }

function Actions({ provider, onChange }: ActionsProps) {
  const text = useText(providerMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [isEditing, setEditing] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const enable = () => {
    setFailure(undefined)
    onChange({ disabled: false }).catch(setFailure)
  }
  const remove = async () => {
    await api.identity.deleteIdentityProvider({ params: { id: provider.id } })
    showSuccess(text.removed)
    await navigate({ to: '/access', search: { view: 'providers' } as never })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity') })
  }
  return (
    <>
      <ConfirmButton action={text.remove} title={text.removeTitle(provider.title)} onConfirm={remove}>
        {text.removeText}
      </ConfirmButton>
      {provider.disabled ? (
        <IxButton variant="secondary" onClick={enable}>
          {text.enable}
        </IxButton>
      ) : (
        <ConfirmButton
          action={text.disable}
          title={text.disableTitle(provider.title)}
          onConfirm={() => onChange({ disabled: true })}
        >
          {text.disableText}
        </ConfirmButton>
      )}
      <IxButton variant="secondary" onClick={() => setEditing(true)}>
        {text.edit}
      </IxButton>
      {isEditing && <ProviderDialog provider={provider} onChange={onChange} onClose={() => setEditing(false)} />}
      {failure !== undefined && <ProblemMessage failure={failure} onRetry={enable} />}
    </>
  )
}

function SettingsCard({ provider }: { provider: IdentityProvider }) {
  const text = useText(providerMessages)
  const { name, issuer, clientId, hasClientSecret, scopes, nameClaim, groupsClaim, apiAudience, disabled } = provider
  return (
    <Card title={text.settings}>
      <KeyValueList
        items={[
          { name: text.state, value: <ActiveState isDisabled={disabled} /> },
          { name: text.name, value: name },
          { name: text.issuer, value: <code>{issuer}</code> },
          { name: text.clientId, value: <code>{clientId}</code> },
          { name: text.clientSecret, value: hasClientSecret ? text.secretSet : text.secretMissing },
          { name: text.scopes, value: <code>{['openid', ...scopes].join(' ')}</code> },
          { name: text.nameClaim, value: <code>{nameClaim}</code> },
          { name: text.groupsClaim, value: <code>{groupsClaim}</code> },
          { name: text.apiAudience, value: apiAudience === null ? text.apiNone : <code>{apiAudience}</code> },
          { name: text.created, value: <Time at={provider.createdTimestamp} /> },
        ]}
      />
    </Card>
  )
}

/** Returns the address to which the provider redirects after the sign-out: the address of the console. */
function afterSignOutAddress({ redirectUri }: IdentityProvider): string {
  return new URL('/', redirectUri).href
}

function CopyableAddress({ value, label }: { value: string; label: string }) {
  return (
    <span className="with-copy">
      <code>{value}</code>
      <CopyButton value={value} label={label} />
    </span>
  )
}

type CheckResult = Output<'identity', 'checkIdentityProvider'>['data']

/** `CheckCard` connects to the provider and shows what is wrong. */
function CheckCard({ id }: { id: string }) {
  const text = useText(providerMessages)
  const api = useApi()
  const [result, setResult] = useState<CheckResult>()
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const check = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      setResult((await api.identity.checkIdentityProvider({ params: { id } })).data)
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Card
      title={text.checkTitle}
      actions={
        <IxButton variant="secondary" loading={isBusy} onClick={check}>
          {text.check}
        </IxButton>
      }
    >
      <p className="quiet card-lead">{text.checkIntro}</p>
      <div role="status">{result !== undefined && <CheckResultView result={result} />}</div>
      {failure !== undefined && <ProblemMessage failure={failure} onRetry={check} />}
    </Card>
  )
}

function CheckResultView({ result: { isUsable, problems, endpoints } }: { result: CheckResult }) {
  const text = useText(providerMessages)
  return (
    <>
      <p className="card-lead">
        <StatusChip tone={isUsable ? 'good' : 'bad'}>{isUsable ? text.usable : text.unusable}</StatusChip>
      </p>
      {problems.length > 0 && (
        <ul className="check-problems" lang="en">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
      <KeyValueList
        items={Object.entries(endpoints).map(([name, value]) => ({
          name: endpointName(name, text),
          value: <code>{value}</code>,
        }))}
      />
    </>
  )
}

/** Returns the label of an endpoint. `name` is its name in the discovery document. */
function endpointName(name: string, text: (typeof providerMessages)['en']): string {
  if (name === 'authorization_endpoint') return text.authorizationEndpoint
  if (name === 'token_endpoint') return text.tokenEndpoint
  if (name === 'jwks_uri') return text.keysEndpoint
  return name === 'end_session_endpoint' ? text.signOutEndpoint : name
}
