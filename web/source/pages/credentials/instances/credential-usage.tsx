import type { CredentialUsage } from '@millwright/api/credentials-shapes.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useGatewayNames } from '../../../app/api/gateways.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { credentialMessages } from '../messages.ts'

/** `CredentialUsageCard` shows where credentials are used: logins, gateways, copies and monitoring sets. */
export function CredentialUsageCard({ instanceId }: { instanceId: string }) {
  const text = useText(credentialMessages)
  const query = useOperationQuery()
  const usage = useQuery(
    query(['credentials', 'readInstanceUsage'], { params: { instanceId } }, { live: ['credentials'] }),
  )
  return (
    <Card title={text.usage}>
      <QueryState query={usage}>{({ data }) => <UsageLists usage={data} />}</QueryState>
    </Card>
  )
}

function UsageLists({ usage: { associations, deliveries, copies, templates } }: { usage: CredentialUsage }) {
  const text = useText(credentialMessages)
  const gateways = useGatewayNames()
  if ([associations, deliveries, copies, templates].every(({ length }) => length === 0)) {
    return <p className="quiet">{text.notUsed}</p>
  }
  return (
    <>
      <UsageList title={text.logins}>
        {associations.map(({ gatewayId, address, assetId, lastWorkedTimestamp, lastFailedTimestamp }) => (
          <li key={`${gatewayId} ${address}`}>
            <span className="link-name">
              {assetId === undefined ? <code>{address}</code> : <Link to={`/assets/${assetId}`}>{address}</Link>}
            </span>
            <StatusChip tone={lastWorkedTimestamp === undefined ? 'bad' : 'good'}>
              {lastWorkedTimestamp === undefined ? text.rejected : text.successful}
            </StatusChip>
            <Time at={lastWorkedTimestamp ?? lastFailedTimestamp} isRelative />
          </li>
        ))}
      </UsageList>
      <UsageList title={text.delivered}>
        {deliveries.map(({ gatewayId, address, jobId, count, lastTimestamp }) => (
          <li key={`${jobId} ${address}`}>
            <span className="link-name">
              <Link to={`/jobs/${jobId}`}>{gateways.get(gatewayId) ?? gatewayId}</Link> <code>{address}</code>
            </span>
            <span className="quiet">{text.times(count)}</span>
            <Time at={lastTimestamp} isRelative />
          </li>
        ))}
      </UsageList>
      <UsageList title={text.copies}>
        {copies.map((copy) => (
          <li key={copy.instanceId}>
            <AssetLine assetId={copy.assetId} />
          </li>
        ))}
      </UsageList>
      <UsageList title={text.inTemplates}>
        {templates.map(({ id, name }) => (
          <li key={id}>{name}</li>
        ))}
      </UsageList>
    </>
  )
}

/** `AssetLine` links to an asset. It shows the name of the asset or, if the user cannot read the asset, the id. */
function AssetLine({ assetId }: { assetId: string }) {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const { data } = useQuery({ ...query(['inventory', 'readAsset'], { params: { id: assetId } }), enabled: canRead })
  const { name } = (data?.data ?? {}) as { name?: string }
  return (
    <Link className="link-name" to={`/assets/${assetId}`}>
      {name ?? assetId}
    </Link>
  )
}

function UsageList({ title, children }: { title: string; children: React.ReactNode[] }) {
  if (children.length === 0) return null
  return (
    <>
      <h3 className="part-title">{title}</h3>
      <ul className="link-lines">{children}</ul>
    </>
  )
}
