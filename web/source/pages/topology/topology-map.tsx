import {
  type Grouping,
  restKey,
  type TopologyGroup,
  type TopologyGroups,
} from '@millwright/api/inventory/topology-groups.ts'
import { IxButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useMemo, useState } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { AssetPanel } from './asset-panel.tsx'
import { ChangeTile, Comparison, DifferenceCount } from './comparison.tsx'
import { HighlightField } from './highlight-field.tsx'
import { useImpactMarks, useShownImpact } from './impact/use-impact-marks.ts'
import type { Layout } from './map/arrangement.ts'
import { isNetwork, type SceneItem, sceneOf } from './map/scene.ts'
import { assetItemKey, groupKey, rootKey } from './map/scene-keys.ts'
import { groupSigns } from './map/signs.ts'
import { networkType, separateNetworks } from './map/switch-networks.ts'
import { type MapData, type MapQuery, maxOpenGroups, useForceLayout, useMapData } from './map-data.ts'
import { isEmphasized, type MapEmphasis, shownEmphasis } from './map-emphasis.ts'
import { MapLegend } from './map-legend.tsx'
import { mapMessages } from './map-messages.ts'
import { type MapTextFunctions, useMapTexts } from './map-texts.ts'
import { NoTopology } from './no-topology.tsx'
import { PlaceFigures } from './place-figures.tsx'
import { listOf } from './place-links.ts'
import { PlaceList } from './place-list.tsx'
import { SubnetOrderField, subnetOrderOf } from './subnet-order.tsx'
import { comparedSince, isSpan, spanFor } from './timeline-scale.ts'
import type { ChangeTopologySearch, TopologySearchState } from './topology-search.ts'
import { useUnreachableNames } from './unreachable-names.ts'

const MapCanvas = lazy(async () => ({ default: (await import('./map/map-canvas.tsx')).MapCanvas }))

type TopologyMapProps = {
  by: Grouping
  hierarchy: string | undefined
  /** The name of the hierarchy. */
  hierarchyName: string | undefined
  layout: Layout
  search: TopologySearchState
  change: ChangeTopologySearch
}

/** The width and the height of the window that the map does not use, in pixels, and the limits of the aspect of the map. */
const around = { width: 330, height: 370 } as const
const aspects = { narrow: 0.72, lowest: 1, highest: 3 } as const

/** Returns the aspect of the map in the current window. */
function aspectOf({ innerWidth, innerHeight }: Window): number {
  if (innerWidth < 700) return aspects.narrow
  const aspect = (innerWidth - around.width) / Math.max(1, innerHeight - around.height)
  return Math.min(aspects.highest, Math.max(aspects.lowest, aspect))
}

/** `TopologyMap` shows the map with its legend, and the panel of the current group or of the selected asset. */
export function TopologyMap({ by, hierarchy, hierarchyName, layout, search, change }: TopologyMapProps) {
  const text = useText(mapMessages)
  const tree = by === 'hierarchy' && hierarchy !== undefined ? { id: hierarchy, name: hierarchyName ?? '' } : undefined
  const impact = useShownImpact({ asset: search.asset, show: search.show, tree })
  const place = search.in ?? impact?.place ?? rootKey
  const [opened, setOpened] = useState<readonly string[]>(place === rootKey ? [] : [place])
  const [focus, setFocus] = useState({ key: place === rootKey ? rootKey : groupKey(place) })
  const [chosenEmphasis, setEmphasis] = useState<MapEmphasis>()
  const [aspect] = useState(() => aspectOf(window))
  const showsChanges = search.compare !== undefined
  const isComparison = showsChanges || search.at !== undefined || search.since !== undefined
  const emphasis = shownEmphasis(chosenEmphasis, { isComparison, showsChanges })
  // A comparison has the order of the addresses, so that the boxes stay at their places while its times change.
  const subnetOrder = showsChanges ? 'address' : subnetOrderOf(search.sort)
  const isWorstFirst = !showsChanges && (by !== 'subnet' || subnetOrder === 'problem')
  const [now] = useState(() => Date.now())
  const span = isSpan(search.span)
    ? search.span
    : spanFor(search.since === undefined ? undefined : Date.parse(search.since), now)
  const since = comparedSince(span, { since: search.since, at: search.at, now })
  const query = {
    by,
    hierarchy,
    at: search.at,
    since,
    q: search.q,
    isAll: search.all !== undefined,
    hasChangeKinds: showsChanges,
  }
  // The former map stays visible while another time or filter is loaded.
  const [loaded, setLoaded] = useState<MapData['loaded']>(new Map())
  const isAll = search.all !== undefined
  const data = useMapData(query, openKeys(loaded, place, [...(impact?.groups ?? []), ...opened]))
  if (data.loaded.has(rootKey) && data.loaded !== loaded) setLoaded(data.loaded)
  const forceGridOf = useForceLayout()
  const scene = useMemo(
    () => sceneOf({ loaded, layout, aspect, isAll, isWorstFirst, forceGridOf }),
    [loaded, layout, aspect, isAll, isWorstFirst, forceGridOf],
  )
  const texts = useMapTexts(by)
  const hasMonitoring = loaded.get(rootKey)?.unavailable.includes('monitoring') === false
  const unreachableNames = useUnreachableNames(query, loaded.get(rootKey))
  const marks = useImpactMarks(impact, { scene, tree })
  const selected = search.asset === undefined ? undefined : assetItemKey(search.asset)
  const view = useMemo(
    () => ({
      selected,
      place,
      showsChanges,
      hasMonitoring,
      hasOnlyProblems: by === 'switch',
      unreachableNames,
      isAll,
      marks,
      isEmphasized: (item: SceneItem) => isEmphasized(item, { emphasis, showsChanges, marks }),
    }),
    [selected, place, showsChanges, hasMonitoring, by, unreachableNames, isAll, emphasis, marks],
  )
  const top = loaded.get(rootKey)
  const here = loaded.get(place)
  const open = (keys: readonly string[]) =>
    setOpened((before) => {
      const fresh = keys.filter((key) => key !== rootKey && !before.includes(key))
      return fresh.length === 0 ? before : [...before, ...fresh].slice(-maxOpenGroups)
    })
  const enter = (key: string) => {
    open([key])
    setFocus({ key: key === rootKey ? rootKey : groupKey(key) })
    change({ in: key, asset: undefined })
  }
  const enterWith = (asset: string) => (key: string) => {
    open([key])
    setFocus({ key: groupKey(key) })
    change({ in: key, asset })
  }
  const pick = (item: SceneItem | undefined) => {
    if (item?.group !== undefined) enter(item.group.key)
    else change({ asset: item?.asset?.id })
  }
  const zoom = (groups: readonly string[], within: string) => {
    open(groups)
    if (within !== place) change({ in: within })
  }
  if (data.error !== null) return <ProblemMessage failure={data.error} onRetry={data.refresh} />
  if (top === undefined) return <Loading />
  const isEmpty = top.total.assets === 0 && top.total.changes.removed === 0
  const shown = here ?? top
  const listed = place === rootKey ? withOnlyGroupOpen(loaded, shown) : shown
  // The map by hierarchy shows the insides of a few groups at once.
  const drawn = by === 'hierarchy' ? [...loaded.values()] : [shown, listed]
  const hasWires = [...scene.frames.values()].some(({ wires }) => wires !== undefined && wires.length > 0)
  const hasEdges = drawn.some(({ edges }) => edges.length > 0)
  const areClustered = (scene.frames.get(place)?.clusters.length ?? 0) > 0
  const lines = hasWires
    ? 'wires'
    : !hasEdges
      ? 'none'
      : place === rootKey && (by === 'subnet' || (by === 'hierarchy' && layout === 'hierarchy'))
        ? 'hidden'
        : shown.groups.length > 0 || areClustered
          ? 'groups'
          : 'none'
  // Only the grid has the order of the subnets.
  const hasSubnetOrder = by === 'subnet' && place === rootKey && layout === 'hierarchy' && !showsChanges
  const separate = query.q === undefined && place === rootKey ? separateNetworks(top) : 0
  const name = nameOfPlace(place, shown, { texts, text })
  const side = search.asset !== undefined ? 'asset' : 'none'
  const list = (
    <PlaceList
      query={query}
      place={place}
      name={name}
      data={by === 'switch' && place === rootKey ? allSwitchesOf(loaded, top) : listed}
      top={top}
      texts={texts}
      unreachableNames={unreachableNames}
      showsChanges={showsChanges}
      isWorstFirst={isWorstFirst}
      onEnter={enter}
      onSelect={(asset) => change({ asset })}
    />
  )
  const node = by === 'hierarchy' && place !== rootKey && place !== restKey ? place : undefined
  const label = text.map(String(shown.groups.length), String(shown.total.assets))
  return (
    <>
      {data.isStale && (
        <p className="page-note" role="status">
          {text.stale}
          <IxButton variant="tertiary" onClick={data.refresh}>
            {text.refresh}
          </IxButton>
        </p>
      )}
      {impact === undefined && isComparison && (
        <Comparison
          node={node}
          span={span}
          since={search.since}
          at={search.at}
          total={shown.total}
          emphasis={emphasis}
          onEmphasis={setEmphasis}
          change={change}
        />
      )}
      {isEmpty ? (
        <NoTopology
          isFiltered={search.q !== undefined || search.at !== undefined}
          onClear={() => change({ q: undefined, at: undefined, since: undefined, compare: undefined })}
        />
      ) : (
        <>
          {impact === undefined && !isComparison && (
            <PlaceFigures
              query={query}
              place={place}
              data={shown}
              changes={<ChangeTile span={span} total={shown.total} search={search} />}
            />
          )}
          <div
            className="graph map"
            data-layout={layout}
            data-side={side}
            data-compare={showsChanges}
            aria-busy={data.isLoading}
          >
            <div className="graph-picture">
              <div className="map-head">
                <Places place={place} data={shown} nameOf={texts.nameOf} onEnter={enter} />
                {impact === undefined &&
                  (showsChanges ? (
                    <DifferenceCount query={query} place={place} total={shown.total} />
                  ) : (
                    <AssetCount query={query} place={place} data={shown} networks={separate} />
                  ))}
                {impact === undefined && hasSubnetOrder && (
                  <SubnetOrderField
                    value={subnetOrder}
                    onChange={(order) => change({ sort: order === 'problem' ? undefined : order })}
                  />
                )}
                {impact === undefined && !showsChanges && (
                  <HighlightField data={shown} emphasis={emphasis} onChange={setEmphasis} />
                )}
              </div>
              <Suspense fallback={<Loading />}>
                <MapCanvas
                  scene={scene}
                  view={view}
                  texts={texts}
                  label={label}
                  focus={impact?.focus ?? focus}
                  onPick={pick}
                  onZoom={zoom}
                />
              </Suspense>
              <MapLegend
                data={shown}
                average={top.total}
                showsChanges={showsChanges}
                lines={lines}
                signs={groupSigns(scene, top.total.outdated / Math.max(1, top.total.assets))}
                hasOnlyProblems={by === 'switch'}
                isAll={isAll}
                areClustered={areClustered}
                impact={impact?.impact}
              />
            </div>
            {search.asset !== undefined && (
              <div className="graph-side">
                <AssetPanel
                  id={search.asset}
                  at={search.at}
                  show={search.show}
                  to={search.to}
                  hierarchy={by === 'hierarchy' && !scene.items.has(assetItemKey(search.asset)) ? hierarchy : undefined}
                  onLocate={enterWith(search.asset)}
                  change={change}
                  onSelect={(asset) => {
                    change({ asset, show: undefined, to: undefined })
                    if (asset !== undefined && scene.items.has(assetItemKey(asset)))
                      setFocus({ key: assetItemKey(asset) })
                  }}
                />
              </div>
            )}
          </div>
          {side === 'none' && list}
        </>
      )}
    </>
  )
}

type AssetCountProps = {
  query: MapQuery
  place: string
  data: TopologyGroups
  /** The number of networks between which no connection is known. */
  networks: number
}

/** `AssetCount` is the number of assets of the current group, with the page that lists them, and whether its networks are separate. */
function AssetCount({ query, place, data, networks }: AssetCountProps) {
  const text = useText(mapMessages)
  const formats = useFormats()
  const list = listOf(query, place)
  const { assets } = data.total
  return (
    <span className="map-count">
      <span className="quiet">{text.assets(assets, formats.number(assets))}</span>
      {list !== undefined && (
        <Link to={list.to} search={list.search as never}>
          {text.openList}
        </Link>
      )}
      {networks > 1 && <span className="quiet">{text.separateNetworks(formats.number(networks))}</span>}
    </span>
  )
}

/** With at most this many groups at the top, their insides are shown at once. */
const fewGroups = 8

/** Returns the groups to load: those that the user opened, those that contain the current place, and a few top groups. */
function openKeys(loaded: MapData['loaded'], place: string, opened: readonly string[]): string[] {
  const path = loaded.get(place)?.path.map(({ key }) => key) ?? []
  const fewOf = (key: string) => {
    const groups = loaded.get(key)?.groups ?? []
    return groups.length <= fewGroups ? groups.filter(({ children }) => children > 0) : []
  }
  // A single top group fills the map, so that its assets or its groups with their insides are large enough.
  const [only, ...others] = (loaded.get(rootKey)?.groups ?? []).filter(({ kind }) => kind !== 'rest')
  const single = only !== undefined && others.length === 0 ? [only] : []
  const first = [...single, ...fewOf(rootKey)].map(({ key }) => key)
  const second = single.flatMap(({ key }) => fewOf(key)).map(({ key }) => key)
  return [...new Set([...path, ...first, ...second, ...opened])]
}

/** Returns the switches of all networks, and the group of the assets without a switch. */
function allSwitchesOf(loaded: MapData['loaded'], top: TopologyGroups): TopologyGroups {
  const groups = top.groups.flatMap((group) => (isNetwork(group) ? (loaded.get(group.key)?.groups ?? []) : [group]))
  return { ...top, groups }
}

/** Returns the top groups. If there is only one, the groups inside it replace it. */
function withOnlyGroupOpen(loaded: MapData['loaded'], top: TopologyGroups): TopologyGroups {
  const [only, ...others] = top.groups.filter(({ kind }) => kind !== 'rest')
  const inside = only === undefined || others.length > 0 ? undefined : loaded.get(only.key)
  if (inside === undefined || inside.groups.length === 0) return top
  return {
    ...top,
    groups: [...inside.groups, ...top.groups.filter(({ kind }) => kind === 'rest')],
    assets: inside.assets,
    edges: inside.edges,
  }
}

type Names = { texts: MapTextFunctions; text: (typeof mapMessages)['en'] }

function nameOfPlace(place: string, { path }: TopologyGroups, { texts, text }: Names): string {
  if (place === rootKey) return text.everything
  const last = path.at(-1)
  return last === undefined ? texts.nameOf({ kind: 'rest' }) : nameInPath(last, texts.nameOf)
}

/** Returns the name of a group in the path. A network of switches has its own name. */
function nameInPath({ name, type }: TopologyGroups['path'][number], nameOf: MapTextFunctions['nameOf']): string {
  return type === networkType ? nameOf({ kind: 'switch', type, name }) : name
}

type PlacesProps = {
  place: string
  data: TopologyGroups
  nameOf: (group: Pick<TopologyGroup, 'name' | 'kind' | 'type'>) => string
  onEnter: (key: string) => void
}

/** `Places` is the path from the whole map to the current group. */
function Places({ place, data, nameOf, onEnter }: PlacesProps) {
  const text = useText(mapMessages)
  const isRest = place === restKey
  const path = [
    { key: rootKey, name: text.everything },
    ...data.path.map((each) => ({ key: each.key, name: nameInPath(each, nameOf) })),
    ...(isRest ? [{ key: place, name: nameOf({ kind: 'rest' }) }] : []),
  ]
  return (
    <nav className="map-places" aria-label={text.path}>
      <ol>
        {path.map(({ key, name }, index) => (
          <li key={key}>
            {index === path.length - 1 ? (
              <span aria-current="location">{name}</span>
            ) : (
              <button type="button" className="link-button" onClick={() => onEnter(key)}>
                {name}
              </button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}
