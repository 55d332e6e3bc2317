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
import { type CommonParts, commonParts, distinctName, namesOf } from './map/names.ts'
import { rootKey } from './map/scene-keys.ts'
import type { MapQuery } from './map-data.ts'
import { mapMessages } from './map-messages.ts'

type PlacePanelProps = {
  query: MapQuery
  place: string
  name: string
  data: TopologyGroups
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
export function PlacePanel({ query, place, name, data, nameOf, showsChanges, onEnter, onSelect }: PlacePanelProps) {
  const text = useText(mapMessages)
  const formats = useFormats()
  const language = useLanguage()
  const { assets, reachability, outdated, changes } = data.total
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
  const hasStates = data.assets.some(({ change, reachability_state, outdated: isOutdated }) =>
    showsChanges ? change !== undefined : reachability_state !== 'reached' || isOutdated,
  )
  const common = useMemo(
    () => ({ assets: commonStart(namesOf(data.assets)), groups: commonStart(namesOf(data.groups)) }),
    [data],
  )
  const openRow = ({ group, asset }: Row) => (group === undefined ? onSelect(asset?.id ?? '') : onEnter(group.key))
  const countColumn = (id: string, header: string, countOf: (group: TopologyGroup) => number) => ({
    id,
    header,
    width: { count: 72, failed: 116, outdated: 92, added: 82, changed: 104 }[id] ?? 110,
    cell: ({ group }: Row) => (group === undefined ? '' : formats.number(countOf(group))),
  })
  const unassigned =
    query.by === 'hierarchy' && place === rootKey ? (data.groups.find(({ kind }) => kind === 'rest')?.assets ?? 0) : 0
  return (
    <>
      <div className="graph-node map-place">
        <div className="map-place-head">
          <h2 className="graph-node-name">{name}</h2>
          {list !== undefined && (
            <Link to={list.to} search={list.search as never} className="button-link">
              {text.openList}
            </Link>
          )}
        </div>
        <KeyFigures
          figures={(showsChanges
            ? [
                // A single kind has the same number as the sum.
                ...(kinds.length === 1 ? [] : [{ name: text.changes, value: changeCount(changes) }]),
                ...kinds.map((kind) => ({ name: text[kind], value: changes[kind] })),
              ]
            : [
                { name: text.count, value: assets },
                { name: text.failed, value: reachability.failed, list: withFilter(list, unreachableFilter) },
                ...(isPast
                  ? []
                  : [{ name: text.outdated, value: outdated, list: place === rootKey ? toVersions : undefined }]),
                { name: text.unknown, value: reachability.unknown },
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
        {unassigned * 2 > assets && (
          <p className="quiet">
            {text.unassigned(formats.number(unassigned))}{' '}
            <Link to="/hierarchy" search={{ hierarchy: query.hierarchy, node: 'unassigned' } as never}>
              {text.assign}
            </Link>
          </p>
        )}
        {addressed !== undefined && <p className="quiet">{text.subnetHint(formats.number(addressed))}</p>}
        {unchanged > 0 && <p className="quiet">{text.unchanged(unchanged, formats.number(unchanged))}</p>}
        {data.truncated && <p className="quiet">{text.truncated}</p>}
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
            width: isGroups ? (showsChanges ? 126 : 116) : hasStates ? 140 : 240,
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
                  ...countColumn('failed', text.failed, (group) => group.reachability.failed),
                  cell: ({ group }: Row) => {
                    const failed = group?.reachability.failed ?? 0
                    return <span className={failed === 0 ? 'quiet' : 'map-failed'}>{formats.number(failed)}</span>
                  },
                },
                ...(isPast
                  ? []
                  : [
                      {
                        ...countColumn('outdated', text.outdated, (group) => group.outdated),
                        cell: ({ group }: Row) => {
                          const count = group?.outdated ?? 0
                          return <span className={count === 0 ? 'quiet' : 'map-outdated'}>{formats.number(count)}</span>
                        },
                      },
                    ]),
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

const tones = { reached: 'good', failed: 'bad', unknown: 'neutral' } as const
const changeTones = { added: 'info', changed: 'warning', removed: 'neutral' } as const

/** `RowState` shows the change of an asset, or its state if it is not reachable. */
function RowState({ asset, showsChanges }: { asset: TopologyAsset | undefined; showsChanges: boolean }) {
  const text = useText(mapMessages)
  if (asset === undefined) return null
  if (showsChanges)
    return asset.change === undefined ? null : (
      <StatusChip tone={changeTones[asset.change]}>{text[asset.change]}</StatusChip>
    )
  const { reachability_state: state, outdated } = asset
  if (state !== 'failed' && outdated) return <StatusChip tone="warning">{text.outdated}</StatusChip>
  return state === 'reached' ? null : <StatusChip tone={tones[state]}>{text[state]}</StatusChip>
}

/** Returns the same list with a further condition. */
function withFilter(list: AssetListLink | undefined, filter: string): AssetListLink | undefined {
  if (list === undefined) return undefined
  const { filter: own, ...search } = list.search
  return { to: list.to, search: { ...search, filter: own === undefined ? filter : `${own} and ${filter}` } }
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
