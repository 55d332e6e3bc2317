import type { TopologyAsset, TopologyGroup, TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { restKey } from '@millwright/api/inventory/topology-groups.ts'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { DataTable } from '../../components/tables/data-table.tsx'
import { assetClassIcons } from '../../components/values/asset-classes.ts'
import { Icon } from '../../components/values/icon.tsx'
import { KeyFigures } from '../../components/values/key-figures.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { type CommonParts, commonParts, distinctName, namesOf, rootKey } from './map/scene.ts'
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

type Row = { key: string; group?: TopologyGroup; asset?: TopologyAsset }

/** `PlacePanel` shows the numbers of the current group, and the list of the groups and assets inside it. */
export function PlacePanel({ query, place, name, data, nameOf, showsChanges, onEnter, onSelect }: PlacePanelProps) {
  const text = useText(mapMessages)
  const formats = useFormats()
  const { assets, reachability, changes } = data.total
  const rows = useMemo(
    (): Row[] => [
      ...data.groups.map((group) => ({ key: group.key, group })),
      ...data.assets.map((asset) => ({ key: asset.id, asset })),
    ],
    [data],
  )
  const list = listOf(query, place)
  const isGroups = data.assets.length === 0
  const stateHeader = showsChanges ? (isGroups ? text.changes : text.change) : isGroups ? text.failed : text.state
  const common = useMemo(() => commonStart(namesOf(data.assets)), [data])
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
          figures={[
            { name: text.count, value: formats.number(assets) },
            { name: text.failed, value: formats.number(reachability.failed) },
            { name: text.added, value: formats.number(changes.added) },
            { name: text.changed, value: formats.number(changes.changed) },
            ...(changes.removed > 0 ? [{ name: text.removed, value: formats.number(changes.removed) }] : []),
          ]}
        />
        {unassigned * 2 > assets && (
          <p className="quiet">
            {text.unassigned(formats.number(unassigned))}{' '}
            <Link to="/hierarchy" search={{ hierarchy: query.hierarchy, node: 'unassigned' } as never}>
              {text.assign}
            </Link>
          </p>
        )}
        {data.truncated && <p className="quiet">{text.truncated}</p>}
      </div>
      <DataTable
        label={text.contents(name)}
        rows={rows}
        idOf={({ key }) => key}
        onOpen={({ group, asset }) => (group === undefined ? onSelect(asset?.id ?? '') : onEnter(group.key))}
        columns={[
          {
            id: 'name',
            header: text.name,
            width: isGroups ? 168 : 236,
            cell: (row) => <RowName row={row} nameOf={nameOf} common={common} />,
          },
          ...(isGroups
            ? [
                {
                  id: 'count',
                  header: text.count,
                  width: 84,
                  cell: ({ group }: Row) => (group === undefined ? '' : formats.number(group.assets)),
                },
              ]
            : []),
          {
            id: 'state',
            header: stateHeader,
            width: isGroups ? 128 : 144,
            cell: (row) => <RowState row={row} showsChanges={showsChanges} isGroups={isGroups} />,
          },
        ]}
        empty={<p className="quiet">{text.empty}</p>}
        isTall
      />
    </>
  )
}

/** Names up to this number of characters are shown completely. */
const shortName = 16

/** Returns the start that all names have in common, if the names are too long for the list. */
function commonStart(names: readonly string[]): CommonParts {
  const isLong = names.some(({ length }) => length > shortName)
  return { start: isLong ? commonParts(names).start : 0, end: 0 }
}

type RowNameProps = { row: Row; nameOf: (group: TopologyGroup) => string; common: CommonParts }

function RowName({ row: { group, asset }, nameOf, common }: RowNameProps) {
  const text = useText(mapMessages)
  if (group !== undefined)
    return (
      <span className="map-name" title={nameOf(group)}>
        {nameOf(group)}
      </span>
    )
  const name = asset?.name || text.unnamed
  return (
    <span className="map-row">
      <Icon name={assetClassIcons[asset?.class ?? 'other']} size={16} />
      <span className="map-name" title={name}>
        {asset?.name && common.start > 0 ? `…${distinctName(name, common)}` : name}
      </span>
    </span>
  )
}

const tones = { reached: 'good', failed: 'bad', unknown: 'neutral' } as const
const changeTones = { added: 'good', changed: 'warning', removed: 'bad' } as const

type RowStateProps = { row: Row; showsChanges: boolean; isGroups: boolean }

/**
 * `RowState` shows the number of unreachable or changed assets of a group, or the state of one asset. A group in a list with
 * assets has its number of assets here.
 */
function RowState({ row: { group, asset }, showsChanges, isGroups }: RowStateProps) {
  const text = useText(mapMessages)
  const formats = useFormats()
  if (group !== undefined) {
    const { added, changed, removed } = group.changes
    const count = showsChanges ? added + changed + removed : group.reachability.failed
    if (!isGroups) return <span className="quiet">{text.assets(group.assets, formats.number(group.assets))}</span>
    return <span className={showsChanges || count === 0 ? undefined : 'map-failed'}>{formats.number(count)}</span>
  }
  if (asset === undefined) return null
  if (!showsChanges)
    return <StatusChip tone={tones[asset.reachability_state]}>{text[asset.reachability_state]}</StatusChip>
  if (asset.change === undefined) return null
  return <StatusChip tone={changeTones[asset.change]}>{text[asset.change]}</StatusChip>
}

/** Returns the page that lists the assets of a group. There is none for switches. */
function listOf({ by, hierarchy, q }: MapQuery, place: string) {
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
