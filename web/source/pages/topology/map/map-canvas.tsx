import type { AssetClass } from '@millwright/api/asset-class.ts'
import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { iconMaximize, iconMinus, iconPlus } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { mapMessages } from '../map-messages.ts'
import { connectionsOfItem } from './lines.ts'
import type { MapTexts, MapView } from './map-pen.ts'
import { type MapEvents, MapRenderer } from './map-renderer.ts'
import type { Scene, SceneItem } from './scene.ts'

/** The item that the camera moves to, and the items that are visible together with it. */
export type MapFocus = { key: string; together?: readonly string[] }

type MapCanvasProps = {
  scene: Scene
  view: Omit<MapView, 'hovered'>
  texts: MapTexts & { classes: (group: TopologyGroup) => string; classOfOne: (assetClass: AssetClass) => string }
  label: string
  /** The group or asset that the camera moves to. A new object moves the camera again. */
  focus: MapFocus
  onPick: (item: SceneItem | undefined) => void
  onZoom: MapEvents['onZoom']
}

/** Returns the numbers of relations of an item by predicate, most frequent first. */
function connectionsOf({ group, asset, parent }: SceneItem): { predicate: string; count: number }[] {
  const end = group?.key ?? asset?.id
  const counts = new Map<string, number>()
  for (const { from, to, predicate, count } of parent.edges)
    if (from === end || to === end) counts.set(predicate, (counts.get(predicate) ?? 0) + count)
  const connections = [...counts].map(([predicate, count]) => ({ predicate, count }))
  return connections.toSorted((one, other) => other.count - one.count).slice(0, maxConnections)
}

const maxConnections = 4

/** The number of connected subnets in the tooltip. The list below the map names all of them. */
const maxSubnets = 6

/** `ConnectedSubnets` names the subnets that a subnet is connected to, with the numbers of connections. */
function ConnectedSubnets({ item }: { item: SceneItem }) {
  const text = useText(mapMessages)
  const formats = useFormats()
  const all = connectionsOfItem(item).map(({ group, count }) =>
    text.connectionWith(group.name ?? text.restSubnet, formats.number(count)),
  )
  if (all.length === 0) return null
  const others = all.length - maxSubnets
  const shown = all.slice(0, maxSubnets).join(', ')
  return <span>{text.connectedSubnets(others > 0 ? text.moreGroups(shown, formats.number(others)) : shown)}</span>
}

type Tooltip = { item: SceneItem; x: number; y: number }

/** `MapCanvas` draws the map. The list next to the map contains the same groups and assets for keyboards and screen readers. */
export function MapCanvas({ scene, view, texts, label, focus, onPick, onZoom }: MapCanvasProps) {
  const text = useText(mapMessages)
  const canvas = useRef<HTMLCanvasElement>(null)
  const renderer = useRef<MapRenderer>(null)
  const [tooltip, setTooltip] = useState<Tooltip>()
  const pick = useEffectEvent(onPick)
  const zoom = useEffectEvent(onZoom)
  useEffect(() => {
    if (canvas.current === null) return
    const created = new MapRenderer(canvas.current, {
      onPick: (item) => pick(item),
      onHover: (item, at) => setTooltip(item === undefined ? undefined : { item, ...at }),
      onZoom: (groups, within) => zoom(groups, within),
    })
    renderer.current = created
    return () => created.dispose()
  }, [])
  const hovered = tooltip?.item.key
  useEffect(() => renderer.current?.show(scene, { ...view, hovered }, texts), [scene, view, hovered, texts])
  useEffect(() => renderer.current?.focusOn(focus.key, focus.together), [focus])
  const tool = (icon: string, name: string, direction: 'in' | 'out' | 'all') => (
    <IxIconButton
      icon={icon}
      size="24"
      variant="secondary"
      aria-label={name}
      title={name}
      onClick={() => renderer.current?.zoom(direction)}
    />
  )
  return (
    <div className="map-frame">
      <canvas ref={canvas} className="map-canvas" role="img" aria-label={label} />
      <div className="graph-tools">
        {tool(iconPlus, text.zoomIn, 'in')}
        {tool(iconMinus, text.zoomOut, 'out')}
        {tool(iconMaximize, text.fit, 'all')}
      </div>
      {tooltip !== undefined && (
        <div className="map-tooltip" style={{ left: tooltip.x, top: tooltip.y }} aria-hidden="true">
          <strong>{tooltip.item.group ? texts.nameOf(tooltip.item.group) : texts.assetName(tooltip.item)}</strong>
          {tooltip.item.asset !== undefined && <span>{texts.classOfOne(tooltip.item.asset.class)}</span>}
          {tooltip.item.group !== undefined && <span>{texts.count(tooltip.item.group)}</span>}
          {tooltip.item.group !== undefined && <span>{texts.classes(tooltip.item.group)}</span>}
          {tooltip.item.group?.kind === 'subnet' && <ConnectedSubnets item={tooltip.item} />}
          {connectionsOf(tooltip.item).map((connection) => (
            <span key={connection.predicate}>{texts.predicate(connection)}</span>
          ))}
        </div>
      )}
    </div>
  )
}
