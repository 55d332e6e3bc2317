import type { TopologyAsset, TopologyGroup, TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { restKey } from '@millwright/api/inventory/topology-groups.ts'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { DataTable } from '../../components/tables/data-table.tsx'
import { assetClassIcons } from '../../components/values/asset-classes.ts'
import { Icon } from '../../components/values/icon.tsx'
import { KeyFigures } from '../../components/values/key-figures.tsx'
import { rootKey } from './map/scene.ts'
import type { MapQuery } from './map-data.ts'
import { mapMessages } from './map-messages.ts'

type PlacePanelProps = {
  query: MapQuery
  place: string
  name: string
  data: TopologyGroups
  nameOf: (group: TopologyGroup) => string
  onEnter: (key: string) => void
  onSelect: (id: string) => void
}

type Row = { key: string; group?: TopologyGroup; asset?: TopologyAsset }

/** `PlacePanel` shows the numbers of the current group, and the list of the groups and assets inside it. */
export function PlacePanel({ query, place, name, data, nameOf, onEnter, onSelect }: PlacePanelProps) {
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
  const changed = changes.added + changes.changed + changes.removed
  const list = listOf(query, place)
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
            { name: text.changed, value: formats.number(changed) },
          ]}
        />
        {data.truncated && <p className="quiet">{text.truncated}</p>}
      </div>
      <DataTable
        label={text.contents(name)}
        rows={rows}
        idOf={({ key }) => key}
        onOpen={({ group, asset }) => (group === undefined ? onSelect(asset?.id ?? '') : onEnter(group.key))}
        columns={[
          { id: 'name', header: text.name, width: 214, cell: (row) => <RowName row={row} nameOf={nameOf} /> },
          {
            id: 'count',
            header: text.count,
            width: 82,
            cell: ({ group }) => (group === undefined ? '' : formats.number(group.assets)),
          },
          { id: 'state', header: text.state, width: 110, cell: (row) => failedOf(row, formats.number) },
        ]}
        empty={<p className="quiet">{text.empty}</p>}
        isTall
      />
    </>
  )
}

function RowName({ row: { group, asset }, nameOf }: { row: Row; nameOf: (group: TopologyGroup) => string }) {
  const text = useText(mapMessages)
  if (group !== undefined) return <strong>{nameOf(group)}</strong>
  return (
    <span className="map-row">
      <Icon name={assetClassIcons[asset?.class ?? 'other']} size={16} />
      {asset?.name || text.unnamed}
    </span>
  )
}

function failedOf({ group, asset }: Row, number: (value: number) => string) {
  const failed = group?.reachability.failed ?? (asset?.reachability_state === 'failed' ? 1 : 0)
  return failed === 0 ? '' : <span className="map-failed">{number(failed)}</span>
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
