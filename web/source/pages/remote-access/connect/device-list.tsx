import { iconRemoteAccess } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { gatewayStateIntervalMs, useGateways } from '../../../app/api/gateways.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { useHasEntries } from '../../../components/tables/entries.ts'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { RowButton } from '../../../components/tables/row-link.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import type { Tone } from '../../../components/values/status-chip.tsx'
import { StatusText } from '../../../components/values/status-text.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { type Asset, nameOf, textAt, textsIn } from '../../assets/model/asset.ts'
import { useTotalQuery } from '../../start/plant-queries.ts'
import { allowedServices, type ConnectionState, connectionState, groupsWithApproval } from './device-connection.ts'
import { connectionNames, connectMessages } from './messages.ts'

const ConnectDialog = lazy(async () => ({ default: (await import('./connect-dialog.tsx')).ConnectDialog }))

/** Selects the devices that a gateway has found in a scan, and that have an IP address. Modules of a device have none. */
const hasAddress = 'connection_points/any(p: p/ipv4_address ne null or p/ipv6_address ne null)'
const reachableDevices = {
  filter: `functional_object_type eq 'Device' and is_platform_managed eq false and ${hasAddress}`,
  relationsFilter: "predicate eq 'found_by_gateway'",
}
const product = 'product_instance_information/manufacturer_product'

/** `DeviceList` lists the devices that gateways have found, and opens the dialog of a new session. */
export function DeviceList() {
  const text = useText(connectMessages)
  const canConnect = usePermission('remote_access_connect')
  const canReadAssets = usePermission('inventory_read_asset_data')
  if (!canConnect || !canReadAssets) return <p className="quiet">{text.noConnectPermission}</p>
  return <Devices />
}

function Devices() {
  const text = useText(connectMessages)
  const formats = useFormats()
  const canScan = usePermission('glb_discovery_run')
  const [search, setSearch] = useSearchState<'q'>()
  const [connecting, setConnecting] = useState<Asset>()
  const q = search.q?.trim() ?? ''
  const pagedList = usePagedList(
    ['inventory', 'listAssets'],
    {
      query: {
        ...reachableDevices,
        ...(q === '' ? { sort: 'name' } : { q }),
        fields: 'id,name,connection_points,product_instance_information',
      },
    },
    { live: ['inventory.asset', 'discovery'] },
  )
  const assets = useQuery(useTotalQuery()).data?.meta.totalElements
  const hasEntries = useHasEntries(pagedList, q !== '')
  const total = formats.number(pagedList.total)
  return (
    <>
      {hasEntries && (
        <>
          <Approval />
          <Toolbar
            count={
              q === '' && assets !== undefined
                ? text.reachable(total, formats.number(assets))
                : text.deviceCount(pagedList.total, total)
            }
          >
            <SearchField
              label={text.search}
              hint={text.searchHint}
              value={search.q ?? ''}
              onChange={(value) => setSearch({ q: value })}
            />
          </Toolbar>
        </>
      )}
      <PagedTable
        label={text.devices}
        pagedList={{ ...pagedList, rows: pagedList.rows as Asset[] }}
        isTall={false}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={setConnecting}
        empty={
          q === '' ? (
            <EmptyState icon={iconRemoteAccess} title={text.noDevices}>
              <p>{text.noDevicesHint}</p>
              {canScan && (
                <Link to="/discovery" search={{ scan: 'any' } as never}>
                  {text.findByScan}
                </Link>
              )}
            </EmptyState>
          ) : (
            <p role="status">{text.noMatches}</p>
          )
        }
      />
      {connecting !== undefined && (
        <Suspense fallback={null}>
          <ConnectDialog
            asset={{ id: connecting.id, name: nameOf(connecting) }}
            onClose={() => setConnecting(undefined)}
          />
        </Suspense>
      )}
    </>
  )
}

type Text = (typeof connectMessages)['en']

function columnsOf(text: Text): Column<Asset>[] {
  return [
    {
      id: 'name',
      header: text.device,
      width: 210,
      cell: (asset) => (
        <Link to={`/assets/${asset.id}`} title={nameOf(asset)}>
          {nameOf(asset)}
        </Link>
      ),
    },
    {
      id: 'address',
      header: text.address,
      width: 120,
      cell: (asset) =>
        ['ipv4_address', 'ipv6_address'].flatMap((field) => textsIn(asset, 'connection_points', field))[0] ?? '',
    },
    {
      id: 'product',
      header: text.product,
      width: 210,
      cell: (asset) => textAt(asset, `${product}/product_name`) || textAt(asset, `${product}/product_family`),
    },
    { id: 'gateway', header: text.gateway, width: 220, cell: (asset) => <GatewayState asset={asset} /> },
    { id: 'services', header: text.services, width: 160, cell: (asset) => <Services asset={asset} /> },
    { id: 'connect', header: text.session, width: 130, cell: (asset) => <ConnectCell asset={asset} /> },
  ]
}

/** Returns the target of a device. There is no event when a tunnel opens or closes. */
function useTarget({ id }: Asset) {
  const query = useOperationQuery()
  const events = { live: ['remote-access.policy', 'remote-access.switch', 'discovery'] }
  return useQuery({
    ...query(['remote-access', 'readTarget'], { params: { id } }, events),
    refetchInterval: gatewayStateIntervalMs,
  }).data?.data
}

const tones: Readonly<Record<ConnectionState, Tone>> = {
  ready: 'good',
  offline: 'warning',
  switchedOff: 'neutral',
  noAddress: 'warning',
  noPermission: 'neutral',
  notPossible: 'warning',
}

function GatewayState({ asset }: { asset: Asset }) {
  const names = useText(connectionNames)
  const target = useTarget(asset)
  const canReadGateways = usePermission('glb_jobs_read')
  const gateways = useGateways({ isEnabled: canReadGateways }).data?.data
  if (target === undefined) return null
  const state = connectionState(target)
  const gateway = gateways?.find(({ id }) => id === target.gatewayId)
  const statement = gateway === undefined ? names[state] : `${names[state]} · ${gateway.name}`
  return (
    <StatusText tone={tones[state]} title={target.problem?.detail ?? statement}>
      {statement}
    </StatusText>
  )
}

function Services({ asset }: { asset: Asset }) {
  const target = useTarget(asset)
  if (target === undefined || target.gatewayId === undefined) return null
  const services = allowedServices(target).join(', ')
  return <span title={services}>{services}</span>
}

function ConnectCell({ asset }: { asset: Asset }) {
  const text = useText(connectMessages)
  const target = useTarget(asset)
  if (target === undefined || target.problem !== undefined) return null
  const label = target.policy.approval === 'required' ? text.request : text.connect
  return <RowButton label={`${label}: ${nameOf(asset)}`}>{label}</RowButton>
}

/** The number of access groups that the note about approvals names. */
const namedGroups = 3

/** `Approval` states whether sessions need the approval of another person, from the policies that the user can read. */
function Approval() {
  const text = useText(connectMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const canManage = usePermission('glb_access_manage')
  const { data } = useQuery(
    query(['remote-access', 'listPolicies'], { query: { limit: 100 } }, { live: ['remote-access.policy'] }),
  )
  const groups = data && groupsWithApproval(data.data, { total: data.meta.totalElements ?? data.data.length })
  if (groups === undefined) return null
  if (groups.length === 0) return <p className="quiet section-note">{text.needsNoApproval}</p>
  return (
    <p className="quiet section-note">
      {groups.length <= namedGroups
        ? text.approvalIn(groups.join(', '))
        : text.approvalInGroups(formats.number(groups.length))}{' '}
      {canManage && (
        <Link to="/remote" search={{ view: 'policies' } as never}>
          {text.toPolicies}
        </Link>
      )}
    </p>
  )
}
