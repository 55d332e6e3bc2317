import type { CredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Card } from '../../../components/page/card.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { linkTitle } from '../../discovery/built-in-links.ts'
import { CredentialFlow } from '../flow/credential-flow.tsx'
import { credentialMessages } from '../messages.ts'
import { CredentialDialog } from './credential-dialog.tsx'
import { CredentialUsageCard } from './credential-usage.tsx'

/** `CredentialPage` shows the scope, the usage and the history of credentials. Secrets are not shown. */
export function CredentialPage() {
  const text = useText(credentialMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const instance = useQuery(
    query(['credentials', 'getInstance'], { params: { instanceId: id } }, { live: ['credentials'] }),
  )
  const name = instance.data?.data.name ?? text.instance
  usePageTitle(name)
  return (
    <>
      <PageHeader
        title={name}
        above={<ParentLink to="/credentials">{text.all}</ParentLink>}
        actions={instance.data !== undefined && <Actions instance={instance.data.data} />}
      />
      <QueryState query={instance}>
        {({ data }) => (
          <div className="cards cards-two">
            <Card title={text.instance}>
              <CredentialDetails instance={data} />
            </Card>
            <Card title={text.values}>
              <KeyValueList
                items={Object.entries(data.values).map(([key, value]) => ({
                  name: key,
                  value: <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>,
                }))}
              />
            </Card>
            <CredentialUsageCard instanceId={id} />
            <Card title={text.history}>
              <History instanceId={id} />
            </Card>
          </div>
        )}
      </QueryState>
    </>
  )
}

function CredentialDetails({ instance }: { instance: CredentialInstance }) {
  const text = useText(credentialMessages)
  const { resourceIdentifier, resourceVersion, metadata, assetId, lastModifiedTimestamp, lastModifiedBy } = instance
  return (
    <KeyValueList
      items={[
        { name: text.product, value: `${linkTitle(resourceIdentifier)} ${resourceVersion}` },
        { name: text.ranges, value: metadata.ipRanges.map((range) => <div key={range}>{range}</div>) },
        { name: text.purpose, value: text[metadata.purpose ?? 'both'] },
        assetId !== undefined && { name: text.copy, value: <Link to={`/assets/${assetId}`}>{text.asset}</Link> },
        {
          name: text.changed,
          value: (
            <>
              <Time at={lastModifiedTimestamp} /> {text.changedBy} {lastModifiedBy}
            </>
          ),
        },
        { name: text.uri, value: <code>{instance.schemaUri}</code> },
      ]}
    />
  )
}

function History({ instanceId }: { instanceId: string }) {
  const text = useText(credentialMessages)
  const query = useOperationQuery()
  const input = { params: { instanceId }, query: { limit: 50 } }
  const history = useQuery(query(['credentials', 'listInstanceVersions'], input, { live: ['credentials'] }))
  return (
    <QueryState query={history}>
      {({ data }) => (
        <ol className="timeline">
          {data.map(({ version, change, fields, changedBy, timestamp }, index) => (
            <li key={version} data-now={index === 0}>
              <span>
                <Time at={timestamp} /> {text.changedBy} {changedBy}
              </span>
              <strong>{text[change]}</strong>
              {fields.length > 0 && <span className="quiet">{fields.join(', ')}</span>}
            </li>
          ))}
        </ol>
      )}
    </QueryState>
  )
}

function Actions({ instance }: { instance: CredentialInstance }) {
  const text = useText(credentialMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const canWrite = usePermission('glb_credential_write')
  const canTest = usePermission('glb_discovery_run') && instance.assetId === undefined
  const [search, setSearch] = useSearchState<'edit' | 'test'>()
  const setEditing = (isEditing: boolean) => setSearch({ edit: isEditing ? 'yes' : undefined })
  const setTesting = (isTesting: boolean) => setSearch({ test: isTesting ? 'yes' : undefined })
  if (!canWrite) return null
  const remove = async () => {
    await api.credentials.deleteInstance({ params: { instanceId: instance.id } })
    showSuccess(text.removed)
    await navigate({ to: '/credentials' })
    await queryClient.invalidateQueries({ queryKey: keyOf('credentials', 'listInstances') })
  }
  return (
    <>
      <ConfirmButton action={text.remove} title={text.removeTitle(instance.name)} onConfirm={remove}>
        {text.removeInstance}
      </ConfirmButton>
      <IxButton variant="secondary" onClick={() => setEditing(true)}>
        {text.edit}
      </IxButton>
      {canTest && <IxButton onClick={() => setTesting(true)}>{text.test}</IxButton>}
      {search.test !== undefined && canTest && <CredentialFlow instance={instance} onClose={() => setTesting(false)} />}
      {search.edit !== undefined && <CredentialDialog instance={instance} onClose={() => setEditing(false)} />}
    </>
  )
}
