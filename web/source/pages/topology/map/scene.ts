import type {
  TopologyAsset,
  TopologyEdge,
  TopologyGroup,
  TopologyGroups,
} from '@millwright/api/inventory/topology-groups.ts'
import { arrange, type Grid, type Layout } from './arrangement.ts'
import { orderedAssets } from './asset-order.ts'
import { hull } from './boxes.ts'
import { clustersOf } from './clusters.ts'
import type { Box, Gap, Point } from './geometry.ts'
import { type CommonParts, commonParts, namesOf } from './names.ts'
import { isRestWorst, worstSubnetsFirst } from './problems.ts'
import { assetItemKey, groupKey, rootKey } from './scene-keys.ts'
import {
  coreType,
  isAtPlaceOf,
  isNetworkKey,
  networkType,
  rangeType,
  summaryGroup,
  switchAlone,
  switchesType,
} from './switch-networks.ts'
import { switchTree } from './switch-tree.ts'

/**
 * The scene of the map. Each group has a fixed box, and the box of a group contains the boxes of its groups and assets. When a
 * group is opened, only its inside changes. The positions of all other boxes stay the same.
 */

export type SceneItem = {
  /** `group/` with the key of a group, or `asset/` with the id of an asset. */
  key: string
  box: Box
  parent: Frame
  group?: TopologyGroup
  asset?: TopologyAsset
  /** The inside of a group that is loaded. */
  frame?: Frame
  /** The cluster of an asset, if the names divide the assets of the group. */
  cluster?: Cluster
}

/** A part of a group: the assets whose names continue with the same part. */
export type Cluster = {
  name: string
  box: Box
  gap: Gap
  common: CommonParts
  items: SceneItem[]
  total: Pick<TopologyGroup, 'assets' | 'monitoring' | 'stopped' | 'stoppedRead' | 'outdated' | 'changes' | 'classes'>
}

/** The inside of a group. The frame of the whole map has the key `''`. */
export type Frame = {
  key: string
  box: Box
  items: SceneItem[]
  edges: readonly TopologyEdge[]
  /** The items by the keys that edges contain. */
  byEnd: ReadonlyMap<string, SceneItem>
  /** The parts of the names that the map leaves out, because all groups or all assets of the frame have them. */
  common: { groups: CommonParts; assets: CommonParts }
  /** The free space between the boxes of the frame, and its clusters. */
  gap: Gap
  clusters: Cluster[]
  /** Whether the lines are drawn only for the item that the pointer is at, and in a place that the user opened. */
  areLinesHidden: boolean
  /** The lines of a tree of switches, with the keys of the items at their ends. They replace the lines of the edges. */
  wires?: readonly { from: string; to: string; points: readonly Point[] }[]
  /** The items and lines that replace a tree of switches on a small scale. */
  summary?: { items: readonly SceneItem[]; wires: readonly (readonly Point[])[] }
  above: Frame | undefined
}

export type Scene = {
  root: Frame
  unitsPerPixel: number
  items: ReadonlyMap<string, SceneItem>
  frames: ReadonlyMap<string, Frame>
}

export type SceneInput = {
  /** The loaded groups by key. The key of the whole map is `''`. */
  loaded: ReadonlyMap<string, TopologyGroups>
  layout: Layout
  aspect: number
  /** Whether all assets are loaded. Then small groups are open too, and each needs space for its title. */
  isAll?: boolean
  /**
   * Whether the subnets with the most important problems come first, and the group of the rest if its problem is the worst one. Otherwise,
   * subnets have the order of their addresses, and the group of the rest is the last one.
   */
  isWorstFirst?: boolean
  /** The number of units of the scene per pixel of the map, about. A title needs a height in pixels. */
  unitsPerPixel?: number
  /** Returns the force layout of a group, or undefined while it is computed. */
  forceGridOf: (key: string, data: TopologyGroups, aspect: number) => Grid | undefined
}

/** The width of the map. All sizes in the scene are relative to it. */
const mapWidth = 1_000
/**
 * The part of the height of a group that its title needs, its largest height in pixels, and the margins inside the group. The texts of a
 * network need most of its width.
 */
const title = 0.12
const tallestTitle = 36
const margin = 0.02
const networkMargin = 0.013
const rootMargin = 0.006
/** The height of a title that is readable while the whole map is visible, and the largest part of a small group for it. */
const smallTitle = { height: 25, part: 0.32 } as const
/** The same for a group that is open while the whole map is visible, and the height of the smallest such group. */
const readableTitle = { height: 26, part: 0.22, from: 90 } as const
/**
 * The part of a cell that its item fills. Groups with lines between them need more space at the top. Inside other groups, lines
 * are visible only after zooming.
 */
const filled = {
  group: 0.97,
  linkedGroup: 0.76,
  innerGroup: 0.93,
  asset: 0.9,
  linkedAsset: 0.84,
  cluster: 0.93,
  network: 0.96,
  subnet: 0.92,
} as const
export const cellAspects = {
  group: 1.55,
  subnet: 3.2,
  network: 3.6,
  asset: 1.9,
  cluster: 1.35,
  clusterAsset: 2.9,
} as const
/** A group needs as much space as this number of assets. */
const assetsPerGroup = 6
/** With at most this many groups, the group of the rest is a small box at the side. */
const fewGroups = 8
/**
 * The size of the box of the rest, as parts of the width and height of the map, and the space between it and the other groups, with and
 * without lines.
 */
const restPart = { width: 0.18, height: 0.34, row: 0.095, linkedGap: 0.035, gap: 0.005 } as const
/** A map that is wider than this has the rest at its side, and another map has it below. */
const restBeside = 4

export function sceneOf({
  loaded,
  layout,
  aspect,
  isAll = false,
  isWorstFirst = false,
  unitsPerPixel = 1,
  forceGridOf,
}: SceneInput): Scene {
  const items = new Map<string, SceneItem>()
  const frames = new Map<string, Frame>()
  const rootBox = { x: 0, y: 0, width: mapWidth, height: mapWidth / aspect }
  const total = loaded.get(rootKey)?.total
  const average = total === undefined ? 0 : total.outdated / Math.max(1, total.assets)
  const root = frameOf(rootKey, rootBox, undefined)
  return { root, items, frames, unitsPerPixel }

  function frameOf(key: string, box: Box, above: Frame | undefined): Frame {
    const byEnd = new Map<string, SceneItem>()
    const found = loaded.get(key)
    const data =
      found === undefined
        ? undefined
        : {
            ...found,
            groups: isWorstFirst && hasSubnets(found) ? worstSubnetsFirst(found.groups, average) : found.groups,
            assets: orderedAssets(found.assets),
          }
    const common = { groups: commonParts(namesOf(data?.groups)), assets: commonParts(namesOf(data?.assets)) }
    // The name of a switch stays recognizable only with its end. In a tree, all names have the same end.
    const hasSwitches = data?.groups.some(({ kind }) => kind === 'switch') === true
    if (!isNetworkKey(key) && hasSwitches) common.groups.end = 0
    // The address of a subnet is complete.
    if (hasSubnets(data)) common.groups = { start: 0, end: 0 }
    const gap = { x: 0, y: 0 }
    const hasPlaces = data?.groups.some(({ kind }) => kind === 'node') === true
    const frame: Frame = {
      key,
      box,
      items: [],
      edges: data?.edges ?? [],
      byEnd,
      common,
      gap,
      clusters: [],
      areLinesHidden: hasSubnets(data) || (hasPlaces && layout === 'hierarchy'),
      above,
    }
    frames.set(key, frame)
    if (data === undefined) return frame
    for (const item of placedItems(frame, data)) {
      frame.items.push(item)
      items.set(item.key, item)
      byEnd.set(item.group?.key ?? item.asset?.id ?? '', item)
      if (item.group !== undefined && loaded.has(item.group.key)) item.frame = frameOf(item.group.key, item.box, frame)
    }
    return frame
  }

  function placedItems(frame: Frame, data: TopologyGroups): SceneItem[] {
    const { groups, assets } = data
    if (isNetworkKey(frame.key)) return treeItems(frame, groups)
    const rest = groups.at(-1)
    if (frame.key === rootKey && rest?.kind === 'rest' && groups.length > 1 && groups.length <= fewGroups) {
      const groupsBefore = groups.slice(0, -1)
      const [area, side] = divided(areaOf(frame, isAll, unitsPerPixel), {
        isFirst: isWorstFirst && isRestWorst(rest, groupsBefore, average),
        hasLines: data.edges.length > 0 && !frame.areLinesHidden,
      })
      const others = itemsIn(frame, { ...data, groups: groupsBefore }, area)
      const box = side.width < area.width ? side : nextTo(others, side)
      return [...others, { key: groupKey(rest.key), box, parent: frame, group: rest }]
    }
    const canDivide = groups.length === 0 && layout !== 'force' && !isAll
    const clusters = canDivide ? clustersOf(assets.map(({ name }) => name)) : undefined
    const area = areaOf(frame, isAll, unitsPerPixel)
    if (clusters === undefined) return itemsIn(frame, data, area)
    const keys = clusters.map(({ name }) => name)
    const grid = arrange('hierarchy', {
      keys,
      edges: [],
      aspect: area.width / area.height,
      cellAspect: cellAspects.cluster,
    })
    const boxes = boxesIn(area, grid, cellShape.widest)
    return clusters.flatMap(({ name, members, common }, index) => {
      const cell = boxes[index] ?? area
      const box = shrunk(cell, filled.cluster)
      frame.gap = { x: cell.width - box.width, y: cell.height - box.height }
      const own = { ...data, assets: members.flatMap((each) => assets[each] ?? []) }
      const cluster: Cluster = { name, box, gap: { x: 0, y: 0 }, common, items: [], total: totalOf(own.assets) }
      frame.clusters.push(cluster)
      cluster.items = itemsIn(frame, own, areaOf({ key: `cluster ${name}`, box }, false, unitsPerPixel), cluster)
      return cluster.items
    })
  }

  /** Returns the switches of a network, each below the switch that connects it. */
  function treeItems(frame: Frame, groups: readonly TopologyGroup[]): SceneItem[] {
    const { boxes, wires, summary } = switchTree(groups, areaOf(frame, isAll, unitsPerPixel))
    // The names of the summary are complete.
    const parent: Frame = {
      ...frame,
      items: [],
      common: { groups: { start: 0, end: 0 }, assets: { start: 0, end: 0 } },
    }
    const { common } = frame
    const membersOf = summary.boxes.map(({ keys }) => groups.filter(({ key }) => keys.includes(key)))
    const summaryOf = (members: readonly TopologyGroup[], index: number) => {
      const others = membersOf.filter((_, other) => other > 0 && other !== index)
      return summaryGroup(members, {
        // A click on the core switch opens it.
        key: (index === 0 ? members[0]?.key : undefined) ?? `${frame.key} ${index}`,
        common: common.groups,
        isCore: index === 0,
        others,
      })
    }
    const [core, ...rest] = membersOf.map(summaryOf)
    // The box of the place of the core switch contains it and the assets at it, so that the boxes add up to the network.
    const own = rest.findIndex((group) => isAtPlaceOf(core, group)) + 1
    const columns = summary.boxes.map(({ box }, index): SceneItem => {
      const members = membersOf[index] ?? []
      const counted = summaryOf(index === own && own > 0 ? [...(membersOf[0] ?? []), ...members] : members, index)
      const group = index === 0 && own > 0 ? switchAlone(counted) : counted
      return { key: groupKey(group.key), box, parent, group }
    })
    parent.items.push(...columns)
    frame.summary = { items: columns, wires: summary.wires }
    frame.wires = wires.map(({ from, to, points }) => ({ from: groupKey(from), to: groupKey(to), points }))
    return groups.flatMap((group) => {
      const box = boxes.get(group.key)
      return box === undefined ? [] : [{ key: groupKey(group.key), box, parent: frame, group }]
    })
  }

  function itemsIn(frame: Frame, data: TopologyGroups, area: Box, cluster?: Cluster): SceneItem[] {
    const { groups, assets } = data
    // With a mixture, groups and assets have the same cells, so that edges between them are short.
    const assetAspect = cluster === undefined ? cellAspects.asset : cellAspects.clusterAsset
    const areSubnets = hasSubnets(data)
    const areNetworks = groups.some(isNetwork)
    const groupAspect = areSubnets ? cellAspects.subnet : areNetworks ? cellAspects.network : cellAspects.group
    const cellAspect = assets.length > groups.length * assetsPerGroup ? assetAspect : groupAspect
    const keys = [...groups.map(({ key }) => key), ...assets.map(({ id }) => id)]
    const input = { keys, edges: data.edges, aspect: area.width / area.height, cellAspect }
    const grid =
      layout === 'force'
        ? (forceGridOf(frame.key, data, input.aspect) ?? arrange('hierarchy', input))
        : arrange(layout, input)
    // An open group fills the map, so its box has about the shape of the map.
    const widestAsset = cluster === undefined ? cellShape.widest : cellShape.widestOfCluster
    const widestGroup = areSubnets
      ? cellShape.widestSubnet
      : areNetworks
        ? cellShape.widestNetwork
        : cellShape.widestGroup
    const widest = groups.length > 1 ? widestGroup : widestAsset
    const boxes = boxesIn(area, grid, widest)
    const hasLines = data.edges.length > 0 && !frame.areLinesHidden
    const placePart = frame.key !== rootKey ? filled.innerGroup : hasLines ? filled.linkedGroup : filled.group
    const groupPart = areNetworks ? filled.network : areSubnets ? filled.subnet : placePart
    const part = groups.length > 0 ? groupPart : hasLines ? filled.linkedAsset : filled.asset
    const space = gapOf(boxes[0] ?? area, part)
    if (cluster === undefined) frame.gap = { x: space, y: space }
    else cluster.gap = { x: space, y: space }
    return keys.map((_, index) => {
      const [group, asset] = [groups[index], assets[index - groups.length]]
      const box = shrunk(boxes[index] ?? area, part)
      if (group !== undefined) return { key: groupKey(group.key), box, parent: frame, group }
      return {
        key: assetItemKey(asset?.id ?? ''),
        box,
        parent: frame,
        ...(asset && { asset }),
        ...(cluster && { cluster }),
      }
    })
  }
}

type DivideOptions = { isFirst: boolean; hasLines: boolean }

/** Divides the area of the map into the area of the groups and a small box for the rest, which is above, below or next to the groups. */
function divided({ x, y, width, height }: Box, { isFirst, hasLines }: DivideOptions): [Box, Box] {
  if (width < height * restBeside) {
    const row = height * restPart.row
    const used = row + height * (hasLines ? restPart.linkedGap : restPart.gap)
    return [
      { x, y: isFirst ? y + used : y, width, height: height - used },
      { x, y: isFirst ? y : y + height - row, width, height: row },
    ]
  }
  const left = width * (1 - restPart.width)
  const gap = width * margin
  return [
    { x, y, width: left, height },
    {
      x: x + left + gap,
      y: y + height * (1 - restPart.height) - gap / 2,
      width: width - left - gap,
      height: height * restPart.height,
    },
  ]
}

/** Returns a box above or below other items with their left and right edges, and close to them. */
function nextTo(items: readonly SceneItem[], box: Box): Box {
  const { x, y, width, height } = items.map((item) => item.box).reduce(hull)
  const top = Math.max(box.y, y - 1.3 * box.height)
  return { x, y: box.y < y ? top : Math.min(box.y, y + height + 0.3 * box.height), width, height: box.height }
}

/** Returns the area of a frame without its title. */
export function areaOf({ key, box }: Pick<Frame, 'key' | 'box'>, isAll = false, unitsPerPixel = 1): Box {
  const part = key === rootKey ? rootMargin : isNetworkKey(key) ? networkMargin : margin
  const side = Math.min(box.width, box.height * 2) * part
  const small = isAll ? smallTitle : readableTitle
  const isReadable = isAll || box.height >= readableTitle.from
  const readable = isReadable ? Math.min(small.height * unitsPerPixel, box.height * small.part) : 0
  const top = key === rootKey ? side : Math.max(Math.min(box.height * title, tallestTitle * unitsPerPixel), readable)
  return { x: box.x + side, y: box.y + top, width: box.width - 2 * side, height: box.height - top - side }
}

/** The limits of the width of a cell divided by its height. Names need wide cells. */
const cellShape = {
  narrowest: 1.1,
  widest: 3.2,
  widestGroup: 2.4,
  widestSubnet: 3.6,
  widestNetwork: 5,
  widestOfCluster: 5,
} as const

function boxesIn(area: Box, { columns, rows, cells }: Grid, widest: number): Box[] {
  const available = { width: area.width / columns, height: area.height / rows }
  const width = Math.min(available.width, available.height * widest)
  const height = Math.min(available.height, available.width / cellShape.narrowest)
  const left = area.x + (area.width - width * columns) / 2
  const top = area.y + (area.height - height * rows) / 2
  return cells.map(({ column, row }) => ({ x: left + column * width, y: top + row * height, width, height }))
}

const largestGap = 22

function gapOf({ width, height }: Box, part: number): number {
  return Math.min(largestGap, Math.min(width, height) * (1 - part))
}

function shrunk({ x, y, width, height }: Box, part: number): Box {
  const gap = gapOf({ x, y, width, height }, part) / 2
  return { x: x + gap, y: y + gap, width: width - 2 * gap, height: height - 2 * gap }
}

/** Returns the groups that contain an item, from the outside to the inside. */
export function pathOf(item: SceneItem): Frame[] {
  const path: Frame[] = []
  for (let frame: Frame | undefined = item.parent; frame !== undefined; frame = frame.above) path.unshift(frame)
  return path
}

/** Returns the sums of the assets of a cluster. */
function totalOf(assets: readonly TopologyAsset[]): Cluster['total'] {
  let stopped = 0
  let stoppedRead = 0
  let outdated = 0
  const monitoring = { reachable: 0, unreachable: 0, unchecked: 0, unmonitored: 0 }
  const changes = { added: 0, changed: 0, removed: 0 }
  for (const asset of assets) {
    if (asset.monitoring !== undefined) monitoring[asset.monitoring]++
    if (asset.stopped) stopped++
    if (asset.stoppedRead) stoppedRead++
    if (asset.outdated) outdated++
    if (asset.change !== undefined) changes[asset.change]++
  }
  const classes = [...Map.groupBy(assets, (asset) => asset.class)].map(([each, members]) => ({
    class: each,
    assets: members.length,
  }))
  return { assets: assets.length, monitoring, stopped, stoppedRead, outdated, changes, classes }
}

/** Returns whether a group is a network of switches. */
export function isNetwork({ kind, type }: Pick<TopologyGroup, 'kind' | 'type'>): boolean {
  return kind === 'switch' && type === networkType
}

/** Returns whether a group stands for several switches of a network. */
export function isSwitches({ kind, type }: Pick<TopologyGroup, 'kind' | 'type'>): boolean {
  return kind === 'switch' && (type === switchesType || type === rangeType)
}

/** Returns whether a group stands for several switches whose names have no start in common. */
export function isSwitchRange({ kind, type }: Pick<TopologyGroup, 'kind' | 'type'>): boolean {
  return kind === 'switch' && type === rangeType
}

/** Returns whether a group is the switch at the top of a network, in the summary of the network. */
export function isCoreSwitch({ kind, type }: Pick<TopologyGroup, 'kind' | 'type'>): boolean {
  return kind === 'switch' && type === coreType
}

function hasSubnets(data: Pick<TopologyGroups, 'groups'> | undefined): boolean {
  return data?.groups.some(({ kind }) => kind === 'subnet') ?? false
}
