import type { Monitoring } from '@millwright/api/monitoring.ts'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { type Column, DataTable } from '../../components/tables/data-table.tsx'
import { Time } from '../../components/values/time.tsx'
import { type Asset, textsIn } from '../assets/model/asset.ts'
import { PlaceName } from '../assets/table/asset-cells.tsx'
import { type PlaceOf, usePlaces } from '../assets/table/asset-places.ts'
import { unreachableFilter } from '../start/plant-queries.ts'
import { monitoringMessages } from './messages.ts'
import { monitoringEvents, pollMs } from './monitoring-data.ts'
import { latestOutages, type UnreachableDevice } from './unreachable.ts'

/** The maximum number of tasks whose unreachable devices are loaded, and of devices per task. */
const loaded = { tasks: 4, devicesPerTask: 50 } as const
/** The number of devices that the page shows. */
const shownDevices = 5

type UnreachableDevicesProps = { monitorings: readonly Monitoring[]; count: number }

/** `UnreachableDevices` lists the devices with the latest outages: their place, since when they do not respond, and their tasks. */
export function UnreachableDevices({ monitorings, count }: UnreachableDevicesProps) {
  const text = useText(monitoringMessages)
  const formats = useFormats()
  const devices = useUnreachableDevices(monitorings).slice(0, shownDevices)
  const placeOf = usePlaces(devices.length === 0 ? [] : [devices])
  const addresses = useAddresses(devices.map(({ id }) => id))
  if (devices.length === 0) return null
  return (
    <section className="unreachable-devices" aria-labelledby="unreachable-devices">
      <div className="card-head">
        <h2 id="unreachable-devices">{text.unreachableDevices}</h2>
        <span className="card-actions">
          <Link to="/activity" search={{ kind: 'reachability' } as never}>
            {text.reachabilityChanges}
          </Link>
          {count > devices.length && (
            <Link to="/assets" search={{ filter: unreachableFilter } as never}>
              {text.showAllUnreachable(formats.number(count))}
            </Link>
          )}
        </span>
      </div>
      <DataTable
        label={text.unreachableDevices}
        columns={columnsOf(text, placeOf, addresses)}
        rows={devices}
        idOf={({ id }) => id}
      />
    </section>
  )
}

/** Returns the devices that the tasks could not reach and that no newer check reached, latest outage first. */
function useUnreachableDevices(monitorings: readonly Monitoring[]): UnreachableDevice[] {
  const query = useOperationQuery()
  const canReadResults = usePermission('glb_jobs_read')
  const failing = monitorings.filter(({ summary }) => canReadResults && summary.failed > 0).slice(0, loaded.tasks)
  const results = useQueries({
    queries: failing.map(({ id }) => ({
      ...query(
        ['monitoring', 'listMonitoringResults'],
        { params: { id }, query: { state: 'failed' as const, limit: loaded.devicesPerTask } },
        { live: monitoringEvents },
      ),
      refetchInterval: pollMs,
    })),
    combine: (all) => all.map(({ data }) => data?.data ?? []),
  })
  const assetIds = [...new Set(results.flat().map(({ assetId }) => assetId))]
  const states = useQuery({
    ...query(['monitoring', 'listMonitoredStates'], { body: { data: { assetIds } } }, { live: monitoringEvents }),
    enabled: assetIds.length > 0,
  })
  return latestOutages(failing, results, states.data?.data ?? [])
}

/** Returns the IP addresses of assets by id. */
function useAddresses(ids: readonly string[]): ReadonlyMap<string, string> {
  const query = useOperationQuery()
  const filter = `id in (${ids.map((id) => `'${id}'`).join(', ')})`
  const input = { query: { filter, fields: 'id,connection_points', limit: shownDevices } }
  const assets = useQuery({ ...query(['inventory', 'listAssets'], input), enabled: ids.length > 0 })
  return new Map(
    ((assets.data?.data ?? []) as Asset[]).flatMap((asset) => {
      const addresses = textsIn(asset, 'connection_points', 'ipv4_address')
      return addresses.length === 0 ? [] : [[String(asset.id), addresses.join(', ')]]
    }),
  )
}

type Text = (typeof monitoringMessages)['en']

function columnsOf(text: Text, placeOf: PlaceOf, addresses: ReadonlyMap<string, string>): Column<UnreachableDevice>[] {
  return [
    {
      id: 'device',
      header: text.device,
      width: 200,
      minWidth: 150,
      cell: ({ id, name }) => <Link to={`/assets/${id}`}>{name}</Link>,
    },
    { id: 'address', header: text.address, width: 130, minWidth: 116, cell: ({ id }) => addresses.get(id) },
    {
      id: 'place',
      header: text.place,
      width: 260,
      minWidth: 200,
      cell: ({ id }) => {
        const names = placeOf(id)
        return names.length > 0 ? <PlaceName names={names} /> : <span className="quiet">{text.notAssigned}</span>
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
      cell: ({ tasks }) =>
        tasks.map(({ id, name }, index) => (
          <span key={id}>
            {index > 0 && ', '}
            <Link to={`/monitoring/${id}`}>{name}</Link>
          </span>
        )),
    },
  ]
}
