import type { MonitoredState } from '@millwright/api/monitoring.ts'
import type { RemoteTarget } from '@millwright/api/remote-access.ts'
import { iconRemoteAccess } from '@siemens/ix-icons/icons'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { gatewayStateIntervalMs, useGateways } from '../../../app/api/gateways.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { useHasEntries } from '../../../components/tables/entries.ts'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { RowButton } from '../../../components/tables/row-link.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import type { Tone } from '../../../components/values/status-chip.tsx'
import { StatusText } from '../../../components/values/status-text.tsx'
import { Time } from '../../../components/values/time.tsx'
import { andFilters, quoted } from '../../assets/filter/filter-conditions.ts'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { type Asset, nameOf, textAt, textsIn } from '../../assets/model/asset.ts'
import { conditionsOf } from '../../assets/model/condition.ts'
import { ConditionCell, PlaceName } from '../../assets/table/asset-cells.tsx'
import { conditionFields, fieldsFor } from '../../assets/table/asset-list.ts'
import { type PlaceOf, usePlaces } from '../../assets/table/asset-places.ts'
import { type StateOf, useMonitoredStates } from '../../assets/table/asset-states.ts'
import { chunksOf } from '../../discovery/scans/error-devices.ts'
import { useFacet, useTotalQuery } from '../../start/plant-queries.ts'
import {
  allowedServices,
  type ConnectionState,
  connectionState,
  latestTargets,
  rowIntervalMs,
  type SharedConnection,
  sharedConnection,
} from './device-connection.ts'
import { contactTone, foundTime } from './found-time.ts'
import { connectionNames, connectMessages } from './messages.ts'

const ConnectDialog = lazy(async () => ({ default: (await import('./connect-dialog.tsx')).ConnectDialog }))

/** Selects the devices that a gateway has found in a scan, and that have an IP address. Modules of a device have none. */
const hasAddress = 'connection_points/any(p: p/ipv4_address ne null or p/ipv6_address ne null)'
const reachableDevices = {
  filter: `functional_object_type eq 'Device' and is_platform_managed eq false and ${hasAddress}`,
  relationsFilter: "predicate eq 'found_by_gateway'",
}
const managementState = 'management_state/state_value'
/** Devices that the user ignores are found only by a search. */
const isOfInterest = `${managementState} ne 'ignored'`
const product = 'product_instance_information/manufacturer_product'
const productName = `${product}/product_name`

type DeviceListProps = {
  /** Whether the table fills the remaining height of the page. */
  isTall?: boolean
}

/** `DeviceList` lists the devices that gateways have found, and opens the dialog of a new session. */
export function DeviceList({ isTall = false }: DeviceListProps) {
  const text = useText(connectMessages)
  const canConnect = usePermission('remote_access_connect')
  const canReadAssets = usePermission('inventory_read_asset_data')
  if (!canConnect || !canReadAssets) return <p className="quiet">{text.noConnectPermission}</p>
  return <Devices isTall={isTall} />
}

function Devices({ isTall }: { isTall: boolean }) {
  const text = useText(connectMessages)
  const formats = useFormats()
  const canScan = usePermission('glb_discovery_run')
  const canReadPlaces = usePermission('glb_hierarchy_read')
  const [search, setSearch] = useSearchState<'q' | 'product'>()
  const [connecting, setConnecting] = useState<Asset>()
  const q = search.q?.trim() ?? ''
  const ofProduct = search.product === undefined ? '' : `${productName} eq ${quoted(search.product)}`
  const pagedList = usePagedList(
    ['inventory', 'listAssets'],
    {
      query: {
        ...reachableDevices,
        filter: andFilters(andFilters(reachableDevices.filter, ofProduct), q === '' ? isOfInterest : ''),
        ...(q === '' ? { sort: 'name' } : { q }),
        fields: fieldsFor([...conditionFields, 'management_state']).join(','),
      },
    },
    { live: ['inventory.asset', 'discovery'] },
  )
  const rows = pagedList.rows as Asset[]
  const chunks = chunksOf(rows)
  const placeOf = usePlaces(chunks)
  const stateOf = useMonitoredStates(chunks)
  const targets = useLoadedTargets(rows)
  const shared = sharedConnection(targets)
  const assets = useQuery(useTotalQuery()).data?.meta.totalElements
  const isFiltered = q !== '' || search.product !== undefined
  const hasEntries = useHasEntries(pagedList, isFiltered)
  const total = formats.number(pagedList.total)
  const hidden = new Set([
    ...(canReadPlaces ? [] : ['place']),
    ...(shared !== undefined || targets.length === 0 ? ['gateway', 'services'] : []),
  ])
  return (
    <>
      {hasEntries && (
        <>
          {(shared !== undefined || targets.length === 0) && <ConnectionNote shared={shared} />}
          <Toolbar
            count={
              !isFiltered && assets !== undefined
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
            <ProductField value={search.product} onChange={(product) => setSearch({ product })} />
          </Toolbar>
        </>
      )}
      <PagedTable
        label={text.devices}
        pagedList={{ ...pagedList, rows }}
        isTall={isTall}
        {...(q === '' && { sorting: { id: 'name', isDescending: false } })}
        columns={columnsOf(text, { placeOf, stateOf, shared }).filter(({ id }) => !hidden.has(id))}
        idOf={({ id }) => id}
        onOpen={setConnecting}
        empty={
          isFiltered ? (
            <p role="status">{text.noMatches}</p>
          ) : (
            <EmptyState icon={iconRemoteAccess} title={text.noDevices}>
              <p>{text.noDevicesHint}</p>
              {canScan && (
                <Link to="/discovery" search={{ scan: 'any' } as never}>
                  {text.findByScan}
                </Link>
              )}
            </EmptyState>
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

type ProductFieldProps = { value: string | undefined; onChange: (product: string | undefined) => void }

/** `ProductField` limits the list to a product. The products include those whose devices no gateway has found. */
function ProductField({ value, onChange }: ProductFieldProps) {
  const text = useText(connectMessages)
  const products = useFacet(productName, { filter: reachableDevices.filter, limit: 100 }).data?.data ?? []
  const names = products.flatMap((each) => each.value ?? []).toSorted((one, other) => one.localeCompare(other))
  const shown = value === undefined || names.includes(value) ? names : [value, ...names]
  return (
    <SelectField
      label={text.product}
      isLabelUnseen
      value={value ?? ''}
      onChange={(product) => onChange(product === '' ? undefined : product)}
      choices={[{ value: '', label: text.anyProduct }, ...shown.map((name) => ({ value: name, label: name }))]}
    />
  )
}

/** `ConnectionNote` states the gateway, the services and the approval that all listed devices share. */
function ConnectionNote({ shared }: { shared: SharedConnection | undefined }) {
  const text = useText(connectMessages)
  const canManage = usePermission('glb_access_manage')
  const canReadGateways = usePermission('glb_jobs_read')
  const gateways = useGateways({ isEnabled: canReadGateways }).data?.data
  // The empty line keeps the table at its position while the targets are loading.
  if (shared === undefined) return <p className="section-note">{'\u00a0'}</p>
  const gateway = gateways?.find(({ id }) => id === shared.gatewayId)
  return (
    <p className="quiet section-note">
      {text.through}{' '}
      {gateway === undefined ? text.oneGateway : <Link to={`/discovery/gateways/${gateway.id}`}>{gateway.name}</Link>}{' '}
      {text.ready} {shared.services.length === 0 ? text.noPorts : text.sharedServices(shared.services.join(', '))}{' '}
      {shared.needsApproval ? text.needsApprovalNote : text.needsNoApproval}
      {canManage && (
        <>
          {' ('}
          <Link to="/remote" search={{ view: 'policies' } as never}>
            {text.toPolicies}
          </Link>
          {')'}
        </>
      )}
      {'.'}
    </p>
  )
}

type Text = (typeof connectMessages)['en']
type ColumnContext = { placeOf: PlaceOf; stateOf: StateOf; shared: SharedConnection | undefined }

function columnsOf(text: Text, { placeOf, stateOf, shared }: ColumnContext): Column<Asset>[] {
  return [
    {
      id: 'name',
      header: text.device,
      width: 190,
      minWidth: 120,
      isGrowing: true,
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
      minWidth: 105,
      cell: (asset) =>
        ['ipv4_address', 'ipv6_address'].flatMap((field) => textsIn(asset, 'connection_points', field))[0] ?? '',
    },
    {
      id: 'product',
      header: text.product,
      width: 210,
      minWidth: 130,
      isGrowing: true,
      cell: (asset) => textAt(asset, productName) || textAt(asset, `${product}/product_family`),
    },
    {
      id: 'place',
      header: text.place,
      width: 250,
      minWidth: 150,
      isGrowing: true,
      cell: (asset) => <DevicePlace asset={asset} names={placeOf(asset.id)} />,
    },
    {
      id: 'state',
      header: text.state,
      width: 170,
      minWidth: 135,
      isGrowing: true,
      cell: (asset) => <DeviceState asset={asset} monitored={stateOf(asset.id)} />,
    },
    {
      id: 'gateway',
      header: text.gateway,
      width: 220,
      minWidth: 170,
      cell: (asset) => <GatewayState asset={asset} />,
    },
    {
      id: 'services',
      header: text.services,
      width: 160,
      minWidth: 140,
      cell: (asset) => <Services asset={asset} />,
    },
    {
      id: 'connect',
      header: text.session,
      width: 140,
      minWidth: 130,
      cell: (asset) => <ConnectCell asset={asset} intervalMs={rowIntervalMs(shared, gatewayStateIntervalMs)} />,
    },
  ]
}

/** Returns a function with the query options for the target of a device. */
function useTargetQuery() {
  const query = useOperationQuery()
  const events = { live: ['remote-access.policy', 'remote-access.switch', 'discovery'] }
  return (id: string) => query(['remote-access', 'readTarget'], { params: { id } }, events)
}

/** Returns the target of a device. One cell of the row polls it, so the others do not. */
function useTarget({ id }: Asset, intervalMs: number | false = false) {
  return useQuery({ ...useTargetQuery()(id), refetchInterval: intervalMs }).data?.data
}

/** Returns the targets that the cells of the visible devices have loaded, and polls the target of the first device. */
function useLoadedTargets(assets: readonly Asset[]): readonly RemoteTarget[] {
  const targetQuery = useTargetQuery()
  return useQueries({
    queries: assets.map(({ id }, index) => ({
      ...targetQuery(id),
      ...(index === 0 ? { refetchInterval: gatewayStateIntervalMs } : { enabled: false }),
    })),
    combine: targetsOf,
  })
}

function targetsOf(results: Parameters<typeof latestTargets>[0]): readonly RemoteTarget[] {
  return latestTargets(results, 2 * gatewayStateIntervalMs)
}

/** `DevicePlace` shows the place of a device, or why it has none. */
function DevicePlace({ asset, names }: { asset: Asset; names: readonly string[] }) {
  const text = useText(connectMessages)
  if (names.length > 0) return <PlaceName names={names} />
  return <span className="quiet">{textAt(asset, managementState) === 'unknown' ? text.inInbox : text.notAssigned}</span>
}

type DeviceStateProps = { asset: Asset; monitored: MonitoredState | undefined }

/**
 * `DeviceState` shows the condition of a device. Without monitoring, it shows when a scan found the device. A contact of more than an hour
 * ago is not shown as reachable.
 */
function DeviceState({ asset, monitored }: DeviceStateProps) {
  const text = useText(connectMessages)
  const language = useLanguage()
  const all = conditionsOf(asset, { monitored, newestVersion: undefined })
  const foundAt = foundTime(asset, all)
  if (foundAt === undefined)
    return <ConditionCell asset={asset} all={all} newestVersion={undefined} language={language} />
  const tone = contactTone(asset, foundAt)
  return (
    <StatusText tone={tone}>
      {tone === 'good' ? text.isReachable : text.lastContact}{' '}
      <span className="quiet">
        <Time at={foundAt} isRelative isShort />
      </span>
    </StatusText>
  )
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

function ConnectCell({ asset, intervalMs }: { asset: Asset; intervalMs: number | false }) {
  const text = useText(connectMessages)
  const target = useTarget(asset, intervalMs)
  if (target === undefined || target.problem !== undefined) return null
  const label = target.policy.approval === 'required' ? text.request : text.connect
  return <RowButton label={`${label}: ${nameOf(asset)}`}>{`${label}…`}</RowButton>
}
