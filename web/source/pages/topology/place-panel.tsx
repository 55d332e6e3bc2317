import type { TopologyAsset, TopologyGroup, TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { restKey } from '@millwright/api/inventory/topology-groups.ts'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { DataTable } from '../../components/tables/data-table.tsx'
import { assetClassIcons, assetClassOfOne } from '../../components/values/asset-classes.ts'
import { Icon } from '../../components/values/icon.tsx'
import { KeyFigures } from '../../components/values/key-figures.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { unreachableFilter } from '../start/plant-queries.ts'
import { changeCount, occurredKinds } from './change-counts.ts'
import { orderedAssets } from './map/asset-order.ts'
import type { GroupConnection } from './map/lines.ts'
import { type CommonParts, commonParts, distinctName, namesOf } from './map/names.ts'
import { rootKey } from './map/scene-keys.ts'
import type { MapQuery } from './map-data.ts'
import { mapMessages } from './map-messages.ts'
import { spanFor } from './timeline-scale.ts'

type PlacePanelProps = {
  query: MapQuery
  place: string
  name: string
  data: TopologyGroups
  /** The current group, and the groups that it has connections to. Both are not known at the top. */
  group: TopologyGroup | undefined
  connections: readonly GroupConnection[]
  nameOf: (group: TopologyGroup) => string
  /** Whether the numbers of changes are shown instead of the numbers of unreachable assets. */
  showsChanges: boolean
  onEnter: (key: string) => void
  onSelect: (id: string) => void
}

type AssetListLink = { to: string; search: { filter?: string } & Record<string, unknown> }
type Figure = { name: string; value: number; list?: AssetListLink | undefined }

/** The page that lists the devices with outdated firmware by product. */
const toVersions: AssetListLink = { to: '/updates', search: { view: 'drift' } }

type Row = { key: string; group?: TopologyGroup; asset?: TopologyAsset }

/** `PlacePanel` shows the numbers of the current group, and the list of the groups and assets inside it. */
export function PlacePanel(props: PlacePanelProps) {
  const { query, place, name, data, group, connections, nameOf, showsChanges, onEnter, onSelect } = props
  const text = useText(mapMessages)
  const formats = useFormats()
  const language = useLanguage()
  const { assets, monitoring, outdated, changes } = data.total
  const monitored = monitoring.reachable + monitoring.unreachable + monitoring.unchecked
  const devices = monitored + monitoring.unmonitored
  const hasOutdated = !data.unavailable.includes('outdated')
  const hasMonitoring = !data.unavailable.includes('monitoring')
  const outdatedText = (count: number, of: number) =>
    count === 0 ? formats.number(0) : text.share(formats.percent(count / of), formats.number(count))
  const rows = useMemo(
    (): Row[] => [
      ...data.groups
        .filter((group) => !showsChanges || changeCount(group.changes) > 0)
        .map((group) => ({ key: group.key, group })),
      ...orderedAssets(data.assets)
        .filter(({ change }) => !showsChanges || change !== undefined)
        .map((asset) => ({ key: asset.id, asset })),
    ],
    [data, showsChanges],
  )
  const unchanged = showsChanges ? data.groups.filter((group) => changeCount(group.changes) === 0).length : 0
  const kinds = occurredKinds(changes)
  // The outdated firmware of an earlier time is not known.
  const isPast = query.at !== undefined
  const subnets = data.groups.filter(({ kind }) => kind === 'subnet')
  const addressed = subnets.length === 0 ? undefined : subnets.reduce((sum, { addressed: own = 0 }) => sum + own, 0)
  const list = listOf(query, place)
  const isGroups = data.assets.length === 0
  // The state is a column only for exceptions.
  const hasStates = data.assets.some(({ change, monitoring: state, outdated: isOutdated }) =>
    showsChanges ? change !== undefined : state === 'unreachable' || isOutdated,
  )
  const common = useMemo(
    () => ({ assets: commonStart(namesOf(data.assets)), groups: commonStart(namesOf(data.groups)) }),
    [data],
  )
  const openRow = ({ group, asset }: Row) => (group === undefined ? onSelect(asset?.id ?? '') : onEnter(group.key))
  const countColumn = (id: string, header: string, countOf: (group: TopologyGroup) => number) => ({
    id,
    header,
    width: { count: 66, unreachable: 118, outdated: 104, added: 82, changed: 104 }[id] ?? 110,
    cell: ({ group }: Row) => (group === undefined ? '' : formats.number(countOf(group))),
  })
  const unassigned =
    query.by === 'hierarchy' && place === rootKey ? (data.groups.find(({ kind }) => kind === 'rest')?.assets ?? 0) : 0
  return (
    <>
      <div className="graph-node map-place">
        <div className="map-place-head">
          <h2 className="graph-node-name">{name}</h2>
          {showsChanges && kinds.length > 0 && (
            <Link to="/activity" search={activityOf(query, place) as never} className="button-link">
              {text.openActivity}
            </Link>
          )}
          {list !== undefined && !showsChanges && (
            <Link to={list.to} search={list.search as never} className="button-link">
              {text.openList}
            </Link>
          )}
        </div>
        <KeyFigures
          figures={(showsChanges
            ? kinds.map((kind) => ({ name: text[`${kind}Assets`], value: changes[kind] }))
            : [
                { name: text.count, value: assets },
                ...(monitored > 0 || !hasMonitoring
                  ? [
                      {
                        name: text.unreachable,
                        value: monitoring.unreachable,
                        list: withFilter(list, unreachableFilter),
                      },
                    ]
                  : []),
                ...(hasMonitoring ? [{ name: text.unmonitoredDevices, value: monitoring.unmonitored }] : []),
                ...(hasOutdated
                  ? [
                      {
                        name: text.outdated,
                        value: outdated,
                        list: place === rootKey ? toVersions : undefined,
                      },
                    ]
                  : []),
              ]
          ).map(({ name: figure, value, list: target }: Figure) => ({
            name: figure,
            value:
              target && value > 0 && !isPast ? (
                <Link to={target.to} search={target.search as never}>
                  {formats.number(value)}
                </Link>
              ) : (
                formats.number(value)
              ),
          }))}
        />
        {group?.place !== undefined && <p className="quiet">{text.mostlyIn(namesOfPath(group.place))}</p>}
        {!showsChanges && hasMonitoring && monitored < devices && place === rootKey && (
          <p className="quiet">
            {text.monitoringHint(formats.number(monitored), formats.number(devices))}{' '}
            <Link to="/monitoring">{text.monitor}</Link>
          </p>
        )}
        {!isPast && !hasOutdated && <p role="status">{text.noOutdated}</p>}
        {!isPast && !hasMonitoring && <p role="status">{text.noMonitoring}</p>}
        {unassigned * 2 > assets && (
          <p className="quiet">
            {text.unassigned(formats.number(unassigned))}{' '}
            <Link to="/hierarchy" search={{ hierarchy: query.hierarchy, node: 'unassigned' } as never}>
              {text.assign}
            </Link>
          </p>
        )}
        {addressed !== undefined && <p className="quiet">{text.subnetHint(formats.number(addressed))}</p>}
        {showsChanges && kinds.length > 0 && <p className="quiet">{text.changesUnit}</p>}
        {unchanged > 0 && <p className="quiet">{text.unchanged(unchanged, formats.number(unchanged))}</p>}
        {data.truncated && <p className="quiet">{text.truncated}</p>}
        {!showsChanges && connections.length > 0 && (
          <Connections connections={connections} nameOf={nameOf} onEnter={onEnter} />
        )}
      </div>
      <DataTable
        label={text.contents(name)}
        rows={rows}
        idOf={({ key }) => key}
        onOpen={openRow}
        columns={[
          {
            id: 'name',
            header: text.name,
            width: isGroups ? (showsChanges ? 126 : 112) : hasStates ? 140 : 240,
            cell: (row) => <RowName row={row} nameOf={nameOf} common={common} onOpen={openRow} />,
          },
          ...(isGroups && !showsChanges ? [countColumn('count', text.count, ({ assets: count }) => count)] : []),
          ...(isGroups && showsChanges
            ? kinds.map((kind) => ({
                ...countColumn(kind, text[kind], (group) => group.changes[kind]),
                cell: ({ group }: Row) => {
                  const count = group?.changes[kind] ?? 0
                  return count === 0 ? <span className="quiet">–</span> : formats.number(count)
                },
              }))
            : []),
          ...(isGroups && !showsChanges
            ? [
                {
                  ...countColumn('unreachable', text.unreachable, (each) => each.monitoring.unreachable),
                  cell: ({ group: each }: Row) => {
                    const { reachable = 0, unreachable = 0, unchecked = 0, unmonitored = 0 } = each?.monitoring ?? {}
                    if (hasMonitoring && reachable + unreachable + unchecked === 0)
                      return <span className="quiet">{unmonitored > 0 ? text.unmonitored : '–'}</span>
                    return (
                      <span className={unreachable === 0 ? 'quiet' : 'map-failed'}>{formats.number(unreachable)}</span>
                    )
                  },
                },
                ...(hasOutdated
                  ? [
                      {
                        ...countColumn('outdated', text.outdated, (each) => each.outdated),
                        cell: ({ group: each }: Row) => {
                          const { outdated: count = 0, assets: of = 0 } = each ?? {}
                          return (
                            <span className={count === 0 ? 'quiet' : 'map-outdated'}>{outdatedText(count, of)}</span>
                          )
                        },
                      },
                    ]
                  : []),
              ]
            : []),
          ...(isGroups
            ? []
            : [
                {
                  id: 'class',
                  header: text.class,
                  width: 112,
                  cell: ({ group, asset }: Row) =>
                    group === undefined
                      ? assetClassOfOne(asset?.class ?? 'other', language)
                      : text.assets(group.assets, formats.number(group.assets)),
                },
              ]),
          ...(hasStates
            ? [
                {
                  id: 'state',
                  header: showsChanges ? text.change : text.state,
                  width: 118,
                  cell: ({ asset }: Row) => <RowState asset={asset} showsChanges={showsChanges} />,
                },
              ]
            : []),
        ]}
        empty={<p className="quiet">{showsChanges ? text.noChanges : text.empty}</p>}
        isTall
      />
    </>
  )
}

const maxConnections = 6

type ConnectionsProps = {
  connections: readonly GroupConnection[]
  nameOf: (group: TopologyGroup) => string
  onEnter: (key: string) => void
}

/** `Connections` lists the groups with connections to the current group, most frequent first. */
function Connections({ connections, nameOf, onEnter }: ConnectionsProps) {
  const text = useText(mapMessages)
  const formats = useFormats()
  const further = connections.length - maxConnections
  return (
    <section>
      <h3 className="map-connections-title">{text.subnetConnections}</h3>
      <ul className="map-connections">
        {connections.slice(0, maxConnections).map(({ group, count }) => (
          <li key={group.key}>
            <button type="button" className="link-button map-name" onClick={() => onEnter(group.key)}>
              {nameOf(group)}
            </button>
            <span className="quiet map-name">{namesOfPath(group.place ?? [])}</span>
            <span>{text.connections(count, formats.number(count))}</span>
          </li>
        ))}
      </ul>
      {further > 0 && <p className="quiet">{text.moreConnections(formats.number(further))}</p>}
    </section>
  )
}

/** Returns the two lowest names of a path. The site is the same for most groups. */
function namesOfPath(path: readonly { name: string }[]): string {
  return path
    .slice(-2)
    .map(({ name }) => name)
    .join(' › ')
}

/** Names up to this number of characters are shown completely. */
const maxLength = 16

/** Returns the start that all names have in common, if the names are too long for the list. */
function commonStart(names: readonly string[]): CommonParts {
  const isLong = names.some(({ length }) => length > maxLength)
  return { start: isLong ? commonParts(names).start : 0, end: 0 }
}

type RowNameProps = {
  row: Row
  nameOf: (group: TopologyGroup) => string
  common: { assets: CommonParts; groups: CommonParts }
  onOpen: (row: Row) => void
}

/** `RowName` is the name as on the map: without the start that all names of the list have in common. */
function RowName({ row, nameOf, common, onOpen }: RowNameProps) {
  const text = useText(mapMessages)
  const { group, asset } = row
  const full = group === undefined ? asset?.name || text.unnamed : nameOf(group)
  const parts = group === undefined ? common.assets : common.groups
  const isNamed = Boolean(group === undefined ? asset?.name : group.name)
  return (
    <span className="map-row">
      {group === undefined && <Icon name={assetClassIcons[asset?.class ?? 'other']} size={16} />}
      <button type="button" className="link-button map-name" tabIndex={-1} title={full} onClick={() => onOpen(row)}>
        {isNamed ? distinctName(full, parts) : full}
      </button>
    </span>
  )
}

const changeTones = { added: 'info', changed: 'warning', removed: 'neutral' } as const

/** `RowState` shows the change of an asset, or its state if it is not reachable. */
function RowState({ asset, showsChanges }: { asset: TopologyAsset | undefined; showsChanges: boolean }) {
  const text = useText(mapMessages)
  if (asset === undefined) return null
  if (showsChanges)
    return asset.change === undefined ? null : (
      <StatusChip tone={changeTones[asset.change]}>{text[asset.change]}</StatusChip>
    )
  if (asset.monitoring === 'unreachable') return <StatusChip tone="bad">{text.unreachable}</StatusChip>
  return asset.outdated ? <StatusChip tone="warning">{text.outdated}</StatusChip> : null
}

/** Returns the same list with a further condition. */
function withFilter(list: AssetListLink | undefined, filter: string): AssetListLink | undefined {
  if (list === undefined) return undefined
  const { filter: own, ...search } = list.search
  return { to: list.to, search: { ...search, filter: own === undefined ? filter : `${own} and ${filter}` } }
}

/** Returns the selection of the activity with the compared time, and with the node if the group is one. */
function activityOf({ by, since, at }: MapQuery, place: string): Record<string, string | undefined> {
  const node = by === 'hierarchy' && place !== rootKey && place !== restKey ? place : undefined
  const span = spanFor(since === undefined ? undefined : Date.parse(since), Date.now())
  return { range: span === 'hour' ? 'day' : span, from: since, to: at ?? new Date().toISOString(), node }
}

/** Returns the page that lists the assets of a group. There is none for switches. */
function listOf({ by, hierarchy, q }: MapQuery, place: string): AssetListLink | undefined {
  const words = q === undefined ? {} : { q }
  if (place === rootKey) return { to: '/assets', search: words }
  if (by === 'hierarchy')
    return {
      to: '/hierarchy',
      search: { hierarchy, node: place === restKey ? 'unassigned' : place, below: 'yes', ...words },
    }
  if (by !== 'subnet' || !/^[0-9.]+\/(?:8|16|24)$/.test(place)) return undefined
  const numbers = place.split('.').slice(0, Number(place.split('/')[1]) / 8)
  const filter = `connection_points/any(c: startswith(c/ipv4_address, '${numbers.join('.')}.'))`
  return { to: '/assets', search: { filter, ...words } }
}
