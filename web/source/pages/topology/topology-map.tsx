import {
  type Grouping,
  restKey,
  type TopologyGroup,
  type TopologyGroups,
} from '@millwright/api/inventory/topology-groups.ts'
import { IxButton } from '@siemens/ix-react'
import { lazy, Suspense, useMemo, useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { AssetPanel } from './asset-panel.tsx'
import { useImpactMarks } from './impact/use-impact-marks.ts'
import type { Layout } from './map/arrangement.ts'
import { assetItemKey, groupKey, rootKey, type SceneItem, sceneOf } from './map/scene.ts'
import { type MapData, maxOpenGroups, useForceLayout, useMapData } from './map-data.ts'
import { isEmphasized, type MapEmphasis, MapLegend } from './map-legend.tsx'
import { mapMessages } from './map-messages.ts'
import { type MapTextFunctions, useMapTexts } from './map-texts.ts'
import { NoTopology } from './no-topology.tsx'
import { PlacePanel } from './place-panel.tsx'
import { Timeline } from './timeline.tsx'
import type { ChangeTopologySearch, TopologySearchState } from './topology-search.ts'

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

/** The aspect of the map on a wide window and on a phone. */
const aspects = { wide: 1.95, narrow: 0.9 } as const

/** `TopologyMap` shows the map with its legend, and the panel of the current group or of the selected asset. */
export function TopologyMap({ by, hierarchy, hierarchyName, layout, search, change }: TopologyMapProps) {
  const text = useText(mapMessages)
  const place = search.in ?? rootKey
  const [opened, setOpened] = useState<readonly string[]>(place === rootKey ? [] : [place])
  const [focus, setFocus] = useState({ key: place === rootKey ? rootKey : groupKey(place) })
  const [emphasis, setEmphasis] = useState<MapEmphasis>()
  const [aspect] = useState(() => (innerWidth < 700 ? aspects.narrow : aspects.wide))
  const showsChanges = search.compare !== undefined
  const [dayAgo] = useState(() => new Date(Date.now() - dayMs).toISOString())
  const since = search.since ?? (showsChanges && search.at === undefined ? dayAgo : undefined)
  const query = { by, hierarchy, at: search.at, since, q: search.q, isAll: search.all !== undefined }
  // The former map stays visible while another time or filter is loaded.
  const [loaded, setLoaded] = useState<MapData['loaded']>(new Map())
  const data = useMapData(query, openKeys(loaded, place, opened))
  if (data.loaded.has(rootKey) && data.loaded !== loaded) setLoaded(data.loaded)
  const forceGridOf = useForceLayout()
  const scene = useMemo(() => sceneOf({ loaded, layout, aspect, forceGridOf }), [loaded, layout, aspect, forceGridOf])
  const texts = useMapTexts(by)
  const tree = by === 'hierarchy' && hierarchy !== undefined ? { id: hierarchy, name: hierarchyName ?? '' } : undefined
  const marks = useImpactMarks({ asset: search.asset, show: search.show, scene, tree })
  const selected = search.asset === undefined ? undefined : assetItemKey(search.asset)
  const view = useMemo(
    () => ({
      selected,
      showsChanges,
      isAll: search.all !== undefined,
      marks,
      isEmphasized: (item: SceneItem) => isEmphasized(item, { emphasis, showsChanges, marks }),
    }),
    [selected, showsChanges, search.all, emphasis, marks],
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
      {isEmpty ? (
        <NoTopology
          isFiltered={search.q !== undefined || search.at !== undefined}
          onClear={() => change({ q: undefined, at: undefined, since: undefined, compare: undefined })}
        />
      ) : (
        <div className="graph map" data-layout={layout} aria-busy={data.isLoading}>
          <div className="graph-picture">
            <Places place={place} data={shown} nameOf={texts.nameOf} onEnter={enter} />
            <Suspense fallback={<Loading />}>
              <MapCanvas
                scene={scene}
                view={view}
                texts={texts}
                label={label}
                focus={focus}
                onPick={pick}
                onZoom={zoom}
              />
            </Suspense>
            <MapLegend
              total={shown.total}
              classes={shown}
              emphasis={emphasis}
              onEmphasis={setEmphasis}
              showsChanges={showsChanges}
            />
          </div>
          <div className="graph-side">
            {search.asset === undefined ? (
              <PlacePanel
                query={query}
                place={place}
                name={nameOfPlace(place, shown, { texts, text })}
                data={shown}
                nameOf={texts.nameOf}
                showsChanges={showsChanges}
                onEnter={enter}
                onSelect={(asset) => change({ asset })}
              />
            ) : (
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
            )}
          </div>
        </div>
      )}
      <Timeline
        node={by === 'hierarchy' && place !== rootKey && place !== restKey ? place : undefined}
        span={search.span}
        since={search.since}
        at={search.at}
        isComparing={showsChanges}
        changes={shown.total.changes}
        change={change}
      />
    </>
  )
}

const dayMs = 86_400_000

/** With at most this many top groups, their insides are shown at once. */
const fewGroups = 4

/** Returns the groups to load: those that the user opened, those that contain the current place, and a few top groups. */
function openKeys(loaded: MapData['loaded'], place: string, opened: readonly string[]): string[] {
  const path = loaded.get(place)?.path.map(({ key }) => key) ?? []
  const top = loaded.get(rootKey)?.groups ?? []
  const first = top.length <= fewGroups ? top.filter(({ children }) => children > 0).map(({ key }) => key) : []
  return [...new Set([...path, ...first, ...opened])]
}

type Names = { texts: MapTextFunctions; text: (typeof mapMessages)['en'] }

function nameOfPlace(place: string, { path }: TopologyGroups, { texts, text }: Names): string {
  if (place === rootKey) return text.everything
  return path.at(-1)?.name ?? texts.nameOf({ kind: 'rest' })
}

type PlacesProps = {
  place: string
  data: TopologyGroups
  nameOf: (group: Pick<TopologyGroup, 'name' | 'kind'>) => string
  onEnter: (key: string) => void
}

/** `Places` is the path from the whole map to the current group. */
function Places({ place, data, nameOf, onEnter }: PlacesProps) {
  const text = useText(mapMessages)
  const isRest = place !== rootKey && data.path.length === 0
  const path = [
    { key: rootKey, name: text.everything },
    ...data.path,
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
