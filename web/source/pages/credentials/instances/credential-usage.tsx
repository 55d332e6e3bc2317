import type { CredentialUsage } from '@millwright/api/credentials-shapes.ts'
import { numberOfAddress } from '@millwright/api/ip-range.ts'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useGatewayNames } from '../../../app/api/gateways.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { Time } from '../../../components/values/time.tsx'
import { type Asset, nameOf } from '../../assets/model/asset.ts'
import { useAssetsOfAddresses } from '../../discovery/scans/error-devices.ts'
import { credentialMessages } from '../messages.ts'
import { refusedDevices } from './refusals.ts'

/** The number of assets per request. The ids of more assets do not fit into a filter. */
const assetsPerRequest = 50

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

function UsageLists({ usage }: { usage: CredentialUsage }) {
  const { associations, refusals, deliveries, copies, templates } = usage
  const text = useText(credentialMessages)
  const gateways = useGatewayNames()
  const accepted = associations.filter(({ lastWorkedTimestamp = '', lastFailedTimestamp = '' }) => {
    return lastWorkedTimestamp >= lastFailedTimestamp
  })
  const names = useAssetNames([...refusals, ...accepted].flatMap(({ assetId }) => assetId ?? []))
  const { assets } = useAssetsOfAddresses(
    refusals.flatMap(({ address, assetId }) => (assetId === undefined && isIpv4(address) ? [address] : [])),
  )
  if ([associations, refusals, deliveries, copies, templates].every(({ length }) => length === 0)) {
    return <p className="quiet">{text.notUsed}</p>
  }
  const device = ({ gatewayId, address, assetId, ...times }: CredentialUsage['associations'][number], at?: string) => (
    <li key={`${gatewayId} ${address}`}>
      <span className="link-name">
        <DeviceName asset={assets.get(address)} assetId={assetId} name={names.get(assetId ?? '')} />{' '}
        <code>{address}</code>
      </span>
      <Time at={at ?? times.lastWorkedTimestamp} isRelative />
    </li>
  )
  const { open, withOther } = refusedDevices(refusals)
  return (
    <>
      {refusals.length > 0 && <p className="quiet">{text.refusedAdvice}</p>}
      <UsageList title={text.refusedAt}>{open.map((each) => device(each, each.lastFailedTimestamp))}</UsageList>
      <UsageList title={text.refusedOtherAt}>
        {withOther.map((each) => device(each, each.lastFailedTimestamp))}
      </UsageList>
      <UsageList title={text.acceptedAt}>{accepted.map((each) => device(each))}</UsageList>
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

type DeviceNameProps = { asset: Asset | undefined; assetId: string | undefined; name: string | undefined }

/** `DeviceName` links to the asset of a device: the one of the login, or the only one with the address of the device. */
function DeviceName({ asset, assetId = asset?.id, name = asset && nameOf(asset) }: DeviceNameProps) {
  return assetId !== undefined && name !== undefined && <Link to={`/assets/${assetId}`}>{name}</Link>
}

function isIpv4(address: string): boolean {
  return numberOfAddress(address) !== undefined
}

/** Returns the names of assets by id. Assets that the user cannot read are left out. */
function useAssetNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const chunks = Array.from({ length: Math.ceil(ids.length / assetsPerRequest) }, (_, index) =>
    ids.slice(index * assetsPerRequest, (index + 1) * assetsPerRequest),
  )
  return useQueries({
    queries: chunks.map((chunk) => {
      const filter = `id in (${chunk.map((id) => `'${id}'`).join(', ')})`
      const input = { query: { filter, fields: 'id,name', limit: assetsPerRequest } }
      return { ...query(['inventory', 'listAssets'], input), enabled: canRead }
    }),
    combine: (results) =>
      new Map(
        results.flatMap(({ data }) => (data?.data ?? []) as Asset[]).map((asset) => [String(asset.id), nameOf(asset)]),
      ),
  })
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
