import { assetClassOf } from '@millwright/api/asset-class.ts'
import { iconProductManagement } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useParams } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { isFailure } from '../../app/api/failure.ts'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { useRights } from '../../app/session/app-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { ParentLink } from '../../components/page/parent-link.tsx'
import { Tabs } from '../../components/page/tabs.tsx'
import { Time } from '../../components/values/time.tsx'
import { type Asset, nameOf, textAt } from '../assets/model/asset.ts'
import { StateChip } from '../assets/table/asset-cells.tsx'
import { ExportButton } from '../files/export/export-dialog.tsx'
import { AssetPaths } from '../hierarchy/asset-paths.tsx'
import { ConnectButton } from '../remote-access/connect/connect-button.tsx'
import { useHasNoGateway } from '../remote-access/connect/has-no-gateway.ts'
import { AssetActions } from './asset-actions.tsx'
import { useAsset, useCanWrite, useLatestHistory } from './asset-data.ts'
import type { AssetTabProps } from './asset-tab.ts'
import { TimeBar } from './history/time-bar.tsx'
import { assetMessages } from './messages.ts'
import { Overview } from './overview/overview.tsx'
import { AssetStatus, noGatewayId } from './status/asset-status.tsx'
import { primaryActionOf } from './status/primary-action.ts'
import { ProductPicture } from './status/product-picture.tsx'
import { useScanAgain } from './status/scan-again.ts'
import { statusMessages } from './status/status-messages.ts'
import './asset.css'

const Relations = lazy(async () => ({ default: (await import('./relations/relations.tsx')).Relations }))
const AssetImpact = lazy(async () => ({ default: (await import('./asset-impact.tsx')).AssetImpact }))
const Identity = lazy(async () => ({ default: (await import('./identity/identity.tsx')).Identity }))
const Device = lazy(async () => ({ default: (await import('./device.tsx')).Device }))
const Credentials = lazy(async () => ({ default: (await import('./credentials.tsx')).Credentials }))
const History = lazy(async () => ({ default: (await import('./history/history.tsx')).History }))
const Updates = lazy(async () => ({
  default: (await import('../updates/asset/asset-updates.tsx')).AssetUpdatesTab,
}))
const Jobs = lazy(async () => ({ default: (await import('./jobs.tsx')).Jobs }))

const tabs = [
  'overview',
  'relations',
  'impact',
  'identity',
  'device',
  'credentials',
  'updates',
  'history',
  'jobs',
] as const
type TabId = (typeof tabs)[number]

/** `AssetPage` shows one asset, now or at an earlier time. */
export function AssetPage() {
  const { id = '' } = useParams({ strict: false })
  const [search] = useSearchState<'at'>()
  const asset = useAsset(id, search.at)
  if (asset.isError && isFailure(asset.error, 'not_found') && search.at === undefined)
    return <DeletedAsset id={id} asset={asset} />
  return (
    <QueryState query={asset}>
      {(data) => <AssetView key={id} asset={data} at={search.at} isPending={asset.isPlaceholderData} />}
    </QueryState>
  )
}

/**
 * `DeletedAsset` is shown when an asset was not found. For a deleted asset, it shows a link to the last version.
 * Otherwise it shows the error.
 */
function DeletedAsset({ id, asset }: { id: string; asset: ReturnType<typeof useAsset> }) {
  const text = useText(assetMessages)
  const [, change] = useSearchState<'at'>()
  const history = useLatestHistory(id)
  const last = history.data?.data[0]
  usePageTitle(text.deletedTitle)
  if (history.isPending) return <Loading />
  if (last?.change !== 'deleted') return <QueryState query={asset}>{() => null}</QueryState>
  const before = new Date(Date.parse(last.time) - 1).toISOString()
  return (
    <>
      <PageHeader
        title={textAt(last.before, 'name') || id}
        above={<ParentLink to="/assets">{text.assets}</ParentLink>}
      />
      <EmptyState icon={iconProductManagement} title={text.deletedTitle}>
        <p>
          {text.deletedBy(last.principalName)}, <Time at={last.time} />
        </p>
        <IxButton variant="secondary" onClick={() => change({ at: before })}>
          {text.viewLastVersion}
        </IxButton>
      </EmptyState>
    </>
  )
}

type AssetViewProps = { asset: Asset; at: string | undefined; isPending: boolean }

function AssetView({ asset, at, isPending }: AssetViewProps) {
  const text = useText(assetMessages)
  const status = useText(statusMessages)
  const language = useLanguage()
  const rights = useRights()
  const [search, change] = useSearchState<'tab' | 'at'>()
  const canWrite = useCanWrite(asset) && at === undefined
  usePageTitle(nameOf(asset))
  const [isTimeOpen, setTimeOpen] = useState(false)
  const isTimeShown = isTimeOpen || at !== undefined
  const product = ['manufacturer_product/manufacturer/name', 'manufacturer_product/product_name']
    .map((path) => textAt(asset, `product_instance_information/${path}`))
    .filter((part) => part !== '')
  const scanAgain = useScanAgain(asset.id)
  const isUnreached = useHasNoGateway(asset)
  const hasNoGateway = isUnreached === true && scanAgain === undefined && rights.has('glb_discovery_run')
  const offered = tabs.filter((tab) => {
    if (tab === 'impact') return at === undefined
    // A link to the tab still opens it: it explains that no link has found the device.
    if (tab === 'device') return !hasNoGateway || search.tab === 'device'
    if (tab === 'credentials') return rights.has('glb_credential_read')
    return tab !== 'jobs' || rights.has('glb_jobs_read')
  })
  const chosen = offered.find((tab) => tab === search.tab) ?? 'overview'
  const primary = primaryActionOf({
    management: textAt(asset, 'management_state/state_value'),
    reachability: textAt(asset, 'reachability_state/state_value'),
    canWrite,
    // A device that no scan has found has no known gateway, so a connection would fail.
    canConnect: rights.has('remote_access_connect') && (scanAgain !== undefined || !rights.has('glb_discovery_run')),
    canScan: scanAgain !== undefined,
    canFind: hasNoGateway,
  })
  return (
    <div className="asset" aria-busy={isPending}>
      <div className="asset-head">
        <ProductPicture assetClass={classOf(asset)} />
        <PageHeader
          title={nameOf(asset)}
          above={
            <>
              <ParentLink to="/assets">{text.assets}</ParentLink>
              {at === undefined && rights.has('glb_hierarchy_read') && <AssetPaths assetId={asset.id} />}
            </>
          }
          subtitle={
            <span className="asset-line">
              {product.join(' · ')}
              {statesOf(asset, at).map(({ path, value }) => (
                <StateChip key={path} path={path} value={value} language={language} />
              ))}
              {!isTimeShown && (
                <button type="button" className="link-button" onClick={() => setTimeOpen(true)}>
                  {text.openVersions}
                </button>
              )}
            </span>
          }
          actions={
            at === undefined && (
              <>
                {primary === 'find' && (
                  <Link
                    to="/discovery"
                    search={{ scan: 'any' } as never}
                    className="button-link"
                    aria-describedby={noGatewayId}
                  >
                    {status.toScan}
                  </Link>
                )}
                {isUnreached !== undefined && !hasNoGateway && (
                  <ConnectButton asset={{ id: asset.id, name: nameOf(asset) }} isPrimary={primary === 'connect'} />
                )}
                {canWrite ? (
                  <AssetActions asset={asset} primary={primary} scanAgain={scanAgain} />
                ) : (
                  <ExportButton what="assets" selection={{ assetId: asset.id }} />
                )}
              </>
            )
          }
        />
      </div>
      {at === undefined && (
        <AssetStatus asset={asset} isFoundByScan={scanAgain !== undefined} hasNoGateway={hasNoGateway} />
      )}
      {isTimeShown && <TimeBar asset={asset} at={at} onChange={(time) => change({ at: time })} />}
      <Tabs
        label={text.views}
        tabs={offered.map((tab) => ({ id: tab, label: text[tab] }))}
        chosen={chosen}
        onChoose={(tab) => change({ tab: tab === 'overview' ? undefined : tab })}
      >
        <Suspense fallback={<Loading />}>{viewOf(chosen, { asset, at, canWrite: canWrite })}</Suspense>
      </Tabs>
    </div>
  )
}

function classOf(asset: Asset) {
  const product = 'product_instance_information/manufacturer_product'
  return assetClassOf({
    type: textAt(asset, 'functional_object_type'),
    family: textAt(asset, `${product}/product_family`),
    product: textAt(asset, `${product}/product_name`),
    name: textAt(asset, 'name'),
  })
}

/**
 * Returns the states that the header shows. The current reachability is part of the status below the header. The overview shows that
 * an asset is onboarded, so the header shows only the other management states.
 */
function statesOf(asset: Asset, at: string | undefined): { path: string; value: string }[] {
  return ['management_state/state_value', ...(at === undefined ? [] : ['reachability_state/state_value'])]
    .map((path) => ({ path, value: textAt(asset, path) }))
    .filter(({ value }) => at !== undefined || value !== 'regarded')
    .filter(({ path, value }) => value !== '' && !(value === 'unknown' && path.startsWith('reachability')))
}

function viewOf(tab: TabId, props: AssetTabProps): ReactNode {
  const views: Record<TabId, (props: AssetTabProps) => ReactNode> = {
    overview: (each) => <Overview {...each} />,
    relations: (each) => <Relations {...each} />,
    impact: ({ asset }) => <AssetImpact asset={asset} />,
    identity: (each) => <Identity {...each} />,
    device: ({ asset }) => <Device asset={asset} />,
    credentials: ({ asset }) => <Credentials asset={asset} />,
    updates: ({ asset }) => <Updates id={asset.id} />,
    history: ({ asset }) => <History id={asset.id} />,
    jobs: ({ asset }) => <Jobs asset={asset} />,
  }
  return views[tab](props)
}
