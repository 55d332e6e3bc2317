import type { UnreachableDevice } from '@millwright/api/monitoring.ts'
import { Link } from '@tanstack/react-router'
import { useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { type Column, DataTable } from '../../components/tables/data-table.tsx'
import { Time } from '../../components/values/time.tsx'
import { type Asset, textsIn } from '../assets/model/asset.ts'
import { PlaceName } from '../assets/table/asset-cells.tsx'
import { useLoadedPlaces } from '../assets/table/asset-places.ts'
import { useAssetsById } from '../discovery/scans/error-devices.ts'
import { unreachableFilter } from '../start/plant-queries.ts'
import { monitoringMessages } from './messages.ts'
import { useLatestOutages } from './monitoring-data.ts'

/** The number of devices that the page shows. */
const shownDevices = 5

/** `UnreachableDevices` lists the devices with the latest outages: their place, since when they do not respond, and their tasks. */
export function UnreachableDevices() {
  const text = useText(monitoringMessages)
  const canReadPlaces = usePermission('glb_hierarchy_read')
  const { devices, total } = useLatestOutages(shownDevices)
  const ids = devices.map(({ assetId }) => assetId)
  const places = useLoadedPlaces(ids)
  const assets = useAssetsById(ids)
  if (devices.length === 0) return null
  return (
    <section className="unreachable-devices" aria-labelledby="unreachable-devices">
      <div className="card-head">
        <h2 id="unreachable-devices">{text.unreachableDevices}</h2>
        <span className="card-actions">
          <Link to="/activity" search={{ kind: 'reachability' } as never}>
            {text.reachabilityChanges}
          </Link>
          {total > devices.length && (
            <Link to="/assets" search={{ filter: unreachableFilter } as never}>
              {text.showAllUnreachable}
            </Link>
          )}
        </span>
      </div>
      <DataTable
        label={text.unreachableDevices}
        columns={columnsOf(text, places, assets).filter(({ id }) => id !== 'place' || canReadPlaces)}
        rows={devices}
        idOf={({ assetId }) => assetId}
      />
    </section>
  )
}

type Text = (typeof monitoringMessages)['en']

function columnsOf(
  text: Text,
  places: ReadonlyMap<string, readonly string[]>,
  assets: ReadonlyMap<string, Asset>,
): Column<UnreachableDevice>[] {
  return [
    {
      id: 'device',
      header: text.device,
      width: 200,
      minWidth: 150,
      cell: ({ assetId, assetName }) => <Link to={`/assets/${assetId}`}>{assetName ?? assetId}</Link>,
    },
    {
      id: 'address',
      header: text.address,
      width: 130,
      minWidth: 116,
      cell: ({ assetId }) => textsIn(assets.get(assetId) ?? {}, 'connection_points', 'ipv4_address').join(', '),
    },
    {
      id: 'place',
      header: text.place,
      width: 260,
      minWidth: 200,
      cell: ({ assetId }) => {
        const names = places.get(assetId)
        const isNowhere = names?.length === 0
        return isNowhere ? <span className="quiet">{text.notAssigned}</span> : <PlaceName names={names ?? []} />
      },
    },
    {
      id: 'since',
      header: text.since,
      width: 150,
      cell: ({ sinceTimestamp }) => <Time at={sinceTimestamp} isCompact />,
    },
    {
      id: 'tasks',
      header: text.tasks,
      width: 260,
      isGrowing: true,
      cell: ({ monitorings }) =>
        monitorings.map(({ id, name }, index) => (
          <span key={id}>
            {index > 0 && ', '}
            <Link to={`/monitoring/${id}`}>{name}</Link>
          </span>
        )),
    },
  ]
}
