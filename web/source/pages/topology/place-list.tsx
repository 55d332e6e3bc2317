import {
  type ChangedKind,
  restKey,
  type TopologyAsset,
  type TopologyGroup,
  type TopologyGroups,
} from '@millwright/api/inventory/topology-groups.ts'
import { Link } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { type Column, DataTable } from '../../components/tables/data-table.tsx'
import { assetClassIcons, assetClassOfOne } from '../../components/values/asset-classes.ts'
import { Icon } from '../../components/values/icon.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { occurredChangedKinds, occurredKinds } from './change-counts.ts'
import { orderedAssets } from './map/asset-order.ts'
import { connectionsTo, type GroupConnection } from './map/lines.ts'
import { type CommonParts, commonParts, distinctName, namesOf } from './map/names.ts'
import { compareProblems, problemTexts, worstSubnetsFirst } from './map/problems.ts'
import { rootKey } from './map/scene-keys.ts'
import type { MapQuery } from './map-data.ts'
import { isChangedGroup } from './map-emphasis.ts'
import { mapMessages } from './map-messages.ts'
import type { MapTextFunctions } from './map-texts.ts'
import { activityOf } from './place-links.ts'

type PlaceListProps = {
  query: MapQuery
  place: string
  name: string
  data: TopologyGroups
  /** The groups of the whole map, with the connections between them, and its total. */
  top: TopologyGroups
  texts: MapTextFunctions
  /** The names of the unreachable devices in the group of the rest, if they are known. */
  unreachableNames: readonly string[]
  /** Whether the numbers of changes are shown instead of the problems. */
  showsChanges: boolean
  /** Whether the groups with the most important problems come first. Otherwise, they have the order of the response. */
  isWorstFirst: boolean
  onEnter: (key: string) => void
  onSelect: (id: string) => void
}

type Row = { key: string; group?: TopologyGroup; asset?: TopologyAsset }

/** `PlaceList` lists the groups and assets inside the current group, in the order of the map. */
export function PlaceList(props: PlaceListProps) {
  const { query, place, name, data, top, showsChanges, isWorstFirst, onEnter, onSelect } = props
  const text = useText(mapMessages)
  const formats = useFormats()
  const isWithoutSwitch = useCallback(({ kind }: TopologyGroup) => query.by === 'switch' && kind === 'rest', [query.by])
  const rows = useMemo(
    (): Row[] => [
      ...(isWorstFirst ? worstFirst(data.groups, averageOf(top)) : data.groups)
        .filter((group) => !showsChanges || isChangedGroup(group))
        // The assets without a switch are not a switch.
        .toSorted((one, other) => Number(isWithoutSwitch(one)) - Number(isWithoutSwitch(other)))
        .map((group) => ({ key: group.key, group })),
      ...orderedAssets(data.assets)
        .filter(({ change, changed }) => !showsChanges || change !== undefined || changed !== undefined)
        .map((asset) => ({ key: asset.id, asset })),
    ],
    [data, top, showsChanges, isWorstFirst, isWithoutSwitch],
  )
  const unchanged = showsChanges ? data.groups.filter((group) => !isChangedGroup(group)).length : 0
  const subnets = data.groups.filter(({ kind }) => kind === 'subnet')
  const addressed = subnets.reduce((sum, { addressed: own = 0 }) => sum + own, 0)
  const switches = data.groups.filter(({ kind }) => kind === 'switch').length
  const isGroups = data.groups.length > 0
  const common = useMemo(() => ({ assets: commonStart(namesOf(data.assets)), groups: { start: 0, end: 0 } }), [data])
  const openRow = ({ group, asset }: Row) => (group === undefined ? onSelect(asset?.id ?? '') : onEnter(group.key))
  const columns = useColumns({ ...props, isGroups, common, openRow })
  const unassigned =
    query.by === 'hierarchy' && place === rootKey ? (data.groups.find(({ kind }) => kind === 'rest')?.assets ?? 0) : 0
  const title =
    switches > 0 && query.by === 'switch'
      ? text.switchList(formats.number(switches))
      : place !== rootKey
        ? text.contents(name)
        : subnets.length > 0
          ? text.subnetList(formats.number(subnets.length))
          : text.places
  const notes = [
    isGroups && !showsChanges && rows.length > 1 && (isWorstFirst ? text.problemsFirst : text.addressesFirst),
    switches > 0 && !showsChanges && text.behindHint,
    subnets.length > 0 && !showsChanges && text.subnetHint(formats.number(addressed)),
    showsChanges && rows.length > 0 && text.changesUnit,
    unchanged > 0 && text.unchanged(unchanged, formats.number(unchanged)),
    data.truncated && text.truncated,
  ].filter((note) => note !== false)
  return (
    <section className="map-list">
      <div className="map-list-head">
        <h2>{title}</h2>
        {showsChanges && occurredKinds(data.total.changes).length > 0 && (
          <Link to="/activity" search={activityOf(query, place) as never} className="button-link">
            {text.openActivity}
          </Link>
        )}
      </div>
      {notes.length > 0 && <p className="quiet map-list-notes">{notes.join(' ')}</p>}
      {unassigned * 2 > top.total.assets && (
        <p className="quiet map-list-notes">
          {text.unassigned(formats.number(unassigned))}{' '}
          <Link to="/hierarchy" search={{ hierarchy: query.hierarchy, node: 'unassigned' } as never}>
            {text.assign}
          </Link>
        </p>
      )}
      <DataTable
        label={text.contents(name)}
        rows={rows}
        idOf={({ key }) => key}
        onOpen={openRow}
        columns={columns}
        empty={<p className="quiet">{showsChanges ? text.noChanges : text.empty}</p>}
      />
    </section>
  )
}

/** Returns the groups with the most important problems first, in the order of the map. */
function worstFirst(groups: readonly TopologyGroup[], average: number): TopologyGroup[] {
  return groups.some(({ kind }) => kind === 'subnet')
    ? worstSubnetsFirst(groups, average)
    : groups.toSorted(compareProblems)
}

/** Returns the share of the outdated assets of the whole map. */
function averageOf({ total }: TopologyGroups): number {
  return total.outdated / Math.max(1, total.assets)
}

type ColumnOptions = PlaceListProps & {
  isGroups: boolean
  common: { assets: CommonParts; groups: CommonParts }
  openRow: (row: Row) => void
}

function useColumns(options: ColumnOptions): Column<Row>[] {
  const { data, top, texts, query, unreachableNames, showsChanges, isGroups, common, openRow, onEnter } = options
  const text = useText(mapMessages)
  const formats = useFormats()
  const language = useLanguage()
  const hasMonitoring = !data.unavailable.includes('monitoring')
  const average = averageOf(top)
  const hasPlaces = data.groups.some(({ place }) => place !== undefined)
  const isSwitches = data.groups.some(({ kind }) => kind === 'switch')
  const hasUplinks = data.groups.some(({ parent }) => parent !== undefined)
  const isSubnets = data.groups.some(({ kind }) => kind === 'subnet')
  const numberCell = (count: number) => (count === 0 ? <span className="quiet">–</span> : formats.number(count))
  const nameColumn: Column<Row> = {
    id: 'name',
    header: isSwitches
      ? text.switch
      : isSubnets
        ? text.subnet
        : isGroups && query.by === 'hierarchy'
          ? text.place
          : text.name,
    width: isGroups ? 190 : 260,
    cell: (row) => <RowName row={row} nameOf={texts.nameOf} common={common} onOpen={openRow} />,
  }
  const placeColumn: Column<Row> = {
    id: 'place',
    header: text.place,
    width: 190,
    cell: ({ group }) =>
      group?.kind === 'rest' ? <span className="quiet">–</span> : placeOf(group?.place ?? []) || text.noPlace,
  }
  const withPlace = hasPlaces ? [placeColumn] : []
  if (isGroups && showsChanges) {
    const counts: [id: string, header: string, of: (group: TopologyGroup) => number][] = [
      ['added', text.added, ({ changes }) => changes.added],
      ['removed', text.removed, ({ changes }) => changes.removed],
      ['changed', text.changedAssets, ({ changes }) => changes.changed],
      ...occurredChangedKinds(data.total.changeKinds).map((kind): (typeof counts)[number] => [
        kind,
        kindNames(text)[kind],
        ({ changeKinds }) => changeKinds?.[kind] ?? 0,
      ]),
    ]
    return [
      nameColumn,
      ...withPlace,
      ...counts.map(([id, header, of]) => ({
        id,
        header,
        width: id === 'connection' || id === 'changed' || id === 'other' ? 150 : 96,
        isNumber: true,
        cell: ({ group }: Row) => numberCell(group === undefined ? 0 : of(group)),
      })),
    ]
  }
  if (isGroups) {
    const problem: Column<Row> = {
      id: 'problem',
      header: text.problem,
      width: isSwitches ? 280 : 330,
      minWidth: isSwitches ? 220 : 290,
      isGrowing: true,
      cell: ({ group, asset }) =>
        group === undefined ? (
          <RowState asset={asset} showsChanges={false} />
        ) : (
          <Problem
            parts={
              problemTexts(group, {
                average,
                hasMonitoring,
                hasShare: true,
                hasOnlyProblems: query.by === 'switch',
                names: group.kind === 'rest' ? unreachableNames : [],
                texts,
              })[0] ?? []
            }
          />
        ),
    }
    const monitoredOf = ({ monitoring: { reachable, unreachable, unchecked, unmonitored } }: TopologyGroup) => {
      const monitored = reachable + unreachable + unchecked
      const all = monitored + unmonitored
      return all === 0 ? '–' : text.monitoredOf(formats.number(monitored), formats.number(all))
    }
    return [
      nameColumn,
      ...withPlace,
      ...(hasUplinks
        ? [
            {
              id: 'uplink',
              header: text.uplink,
              hint: text.behindHint,
              width: 190,
              cell: ({ group }: Row) => <Uplink group={group} data={data} onEnter={onEnter} />,
            },
          ]
        : []),
      ...(isSwitches
        ? [
            {
              id: 'count',
              header: text.count,
              hint: text.behindHint,
              width: 78,
              isNumber: true,
              // The switch itself is not connected to itself.
              cell: ({ group }: Row) =>
                formats.number(Math.max(0, (group?.assets ?? 0) - (group?.kind === 'switch' ? 1 : 0))),
            },
          ]
        : [
            {
              id: 'count',
              header: text.count,
              width: 84,
              isNumber: true,
              cell: ({ group }: Row) => (group === undefined ? '' : formats.number(group.assets)),
            },
          ]),
      ...(isSubnets
        ? [
            {
              id: 'addressed',
              header: text.addressCount,
              width: 134,
              isNumber: true,
              cell: ({ group }: Row) => numberCell(group?.addressed ?? 0),
            },
          ]
        : []),
      problem,
      // The list of subnets has no space for the monitored devices.
      ...(isSubnets || !hasMonitoring
        ? []
        : [
            {
              id: 'monitored',
              header: text.monitored,
              width: 182,
              cell: ({ group }: Row) => (group === undefined ? '' : monitoredOf(group)),
            },
          ]),
      ...(isSubnets && query.by === 'subnet'
        ? [
            {
              id: 'connected',
              header: text.connectedTo,
              width: 240,
              cell: ({ group }: Row) => <ConnectedTo connections={connectionsIn(group, top)} />,
            },
          ]
        : []),
    ]
  }
  // The state is a column only for exceptions.
  const hasStates = data.assets.some(({ change, changed, monitoring, stopped, outdated }) =>
    showsChanges ? change !== undefined || changed !== undefined : monitoring === 'unreachable' || stopped || outdated,
  )
  return [
    nameColumn,
    {
      id: 'class',
      header: text.class,
      width: 160,
      cell: ({ asset }) => assetClassOfOne(asset?.class ?? 'other', language),
    },
    ...(hasStates
      ? [
          {
            id: 'state',
            header: showsChanges ? text.change : text.state,
            width: 240,
            isGrowing: true,
            cell: ({ asset }: Row) => <RowState asset={asset} showsChanges={showsChanges} />,
          },
        ]
      : []),
  ]
}

/** Returns the names of the kinds of changes. */
export function kindNames(text: (typeof mapMessages)['en']): Record<ChangedKind, string> {
  return {
    firmware: text.kindFirmware,
    software: text.kindSoftware,
    name: text.kindName,
    connection: text.kindConnection,
    state: text.kindState,
    other: text.kindOther,
  }
}

function connectionsIn(group: TopologyGroup | undefined, top: TopologyGroups): GroupConnection[] {
  return group === undefined || group.key === restKey ? [] : connectionsTo(group.key, top)
}

/** `ConnectedTo` names the subnet with the most connections, and their number. The tooltip names all connected subnets. */
function ConnectedTo({ connections }: { connections: readonly GroupConnection[] }) {
  const text = useText(mapMessages)
  const formats = useFormats()
  if (connections.length === 0) return <span className="quiet">{text.noConnections}</span>
  const names = connections.map(({ group, count }) =>
    text.connectionWith(group.name ?? text.restSubnet, formats.number(count)),
  )
  const [first = '', ...others] = names
  return (
    <span title={names.join(', ')}>
      {others.length > 0 ? text.moreGroups(first, formats.number(others.length)) : first}
    </span>
  )
}

type UplinkProps = { group: TopologyGroup | undefined; data: TopologyGroups; onEnter: (key: string) => void }

/** `Uplink` is the switch through which a switch is connected to the core of its network. */
function Uplink({ group, data, onEnter }: UplinkProps) {
  const text = useText(mapMessages)
  if (group === undefined || group.kind === 'rest') return <span className="quiet">–</span>
  const above = data.groups.find(({ key }) => key === group.parent)
  if (above === undefined) return <span className="quiet">{text.noUplink}</span>
  return (
    <button type="button" className="link-button map-name" onClick={() => onEnter(above.key)}>
      {above.name}
    </button>
  )
}

/** `Problem` shows the problems of a group in words. */
function Problem({ parts }: { parts: ReturnType<typeof problemTexts>[number] }) {
  if (parts.length === 0) return <span className="quiet">–</span>
  return (
    <span className="map-problems">
      {parts.map(({ problem, text, isExceptional }) => (
        <span key={problem} data-problem={problem} data-exceptional={isExceptional}>
          {text}
        </span>
      ))}
    </span>
  )
}

/** Returns the two lowest names of a path. The site is the same for most groups. */
function placeOf(path: readonly { name: string }[]): string {
  return path
    .slice(-2)
    .map(({ name }) => name)
    .join(' › ')
}

/** Names up to this number of characters are shown completely. */
const maxLength = 24

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

/** `RowName` is the name without the parts that all names of the list have in common. */
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

/** `RowState` shows what changed in an asset, or its state if it is not reachable or outdated. */
function RowState({ asset, showsChanges }: { asset: TopologyAsset | undefined; showsChanges: boolean }) {
  const text = useText(mapMessages)
  if (asset === undefined) return null
  if (showsChanges) {
    const kinds = asset.changed?.map((kind) => kindNames(text)[kind]).join(', ')
    const change = asset.change ?? (kinds === undefined ? undefined : 'changed')
    if (change === undefined) return null
    return (
      <StatusChip tone={changeTones[change]}>
        {change === 'changed' && kinds !== undefined ? text.changedKinds(kinds) : text[change]}
      </StatusChip>
    )
  }
  if (asset.monitoring === 'unreachable') return <StatusChip tone="bad">{text.unreachable}</StatusChip>
  if (asset.stopped)
    return (
      <StatusChip tone={asset.stoppedRead ? 'critical' : 'neutral'}>
        {asset.stoppedRead ? text.inStop : text.inStopKnown}
      </StatusChip>
    )
  return asset.outdated ? <StatusChip tone="warning">{text.outdated}</StatusChip> : null
}
