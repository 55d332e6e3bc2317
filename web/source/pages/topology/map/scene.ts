import type {
  TopologyAsset,
  TopologyEdge,
  TopologyGroup,
  TopologyGroups,
} from '@millwright/api/inventory/topology-groups.ts'
import { arrange, type Grid, type Layout } from './arrangement.ts'

/**
 * The scene of the map. Each group has a fixed box, and the box of a group contains the boxes of its groups and assets. When a
 * group is opened, only its inside changes. The positions of all other boxes stay the same.
 */

export type Box = { x: number; y: number; width: number; height: number }

export type SceneItem = {
  /** `group/` with the key of a group, or `asset/` with the id of an asset. */
  key: string
  box: Box
  parent: Frame
  group?: TopologyGroup
  asset?: TopologyAsset
  /** The inside of a group that is loaded. */
  frame?: Frame
}

/** The number of characters that all names inside a group have in common, at the start and at the end. */
export type CommonParts = { start: number; end: number }

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
  above: Frame | undefined
}

export type Scene = { root: Frame; items: ReadonlyMap<string, SceneItem>; frames: ReadonlyMap<string, Frame> }

export const rootKey = ''

export function groupKey(key: string): string {
  return `group/${key}`
}

export function assetItemKey(id: string): string {
  return `asset/${id}`
}

export type SceneInput = {
  /** The loaded groups by key. The key of the whole map is `''`. */
  loaded: ReadonlyMap<string, TopologyGroups>
  layout: Layout
  aspect: number
  /** Returns the force layout of a group, or undefined while it is computed. */
  forceGridOf: (key: string, data: TopologyGroups, aspect: number) => Grid | undefined
}

/** The width of the map. All sizes in the scene are relative to it. */
const mapWidth = 1_000
/** The part of the height of a group that its title needs, and the margins inside it. */
const title = 0.15
const margin = 0.025
/** The part of a cell that its item fills. */
const filled = { group: 0.9, asset: 0.9 } as const
export const cellAspects = { group: 1.55, asset: 1.9 } as const
/** A group needs as much space as this number of assets. */
const assetsPerGroup = 6

export function sceneOf({ loaded, layout, aspect, forceGridOf }: SceneInput): Scene {
  const items = new Map<string, SceneItem>()
  const frames = new Map<string, Frame>()
  const rootBox = { x: 0, y: 0, width: mapWidth, height: mapWidth / aspect }
  const root = frameOf(rootKey, rootBox, undefined)
  return { root, items, frames }

  function frameOf(key: string, box: Box, above: Frame | undefined): Frame {
    const byEnd = new Map<string, SceneItem>()
    const data = loaded.get(key)
    const common = { groups: commonParts(namesOf(data?.groups)), assets: commonParts(namesOf(data?.assets)) }
    const frame: Frame = { key, box, items: [], edges: data?.edges ?? [], byEnd, common, above }
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
    const area = areaOf(frame)
    const { groups, assets } = data
    // With a mixture, groups and assets have the same cells, so that edges between them are short.
    const cellAspect = assets.length > groups.length * assetsPerGroup ? cellAspects.asset : cellAspects.group
    const keys = [...groups.map(({ key }) => key), ...assets.map(({ id }) => id)]
    const input = { keys, edges: data.edges, aspect: area.width / area.height, cellAspect }
    const grid =
      layout === 'force'
        ? (forceGridOf(frame.key, data, input.aspect) ?? arrange('hierarchy', input))
        : arrange(layout, input)
    const boxes = boxesIn(area, grid)
    return keys.map((_, index) => {
      const [group, asset] = [groups[index], assets[index - groups.length]]
      const box = boxes[index] ?? area
      if (group !== undefined) return { key: groupKey(group.key), box: shrunk(box, filled.group), parent: frame, group }
      return {
        key: assetItemKey(asset?.id ?? ''),
        box: shrunk(box, filled.asset),
        parent: frame,
        ...(asset && { asset }),
      }
    })
  }
}

/** Returns the area of a frame without its title. */
export function areaOf({ key, box }: Pick<Frame, 'key' | 'box'>): Box {
  const side = box.width * margin
  const top = key === rootKey ? side : box.height * title
  return { x: box.x + side, y: box.y + top, width: box.width - 2 * side, height: box.height - top - side }
}

/** The largest cell relative to the area, so that a single item does not fill the whole group. */
const largestCell = { width: 0.49, onlyWidth: 0.75, height: 0.9 } as const
/** The limits of the width of a cell divided by its height. Names need wide cells. */
const cellShape = { narrowest: 1.25, widest: 3 } as const

function boxesIn(area: Box, { columns, rows, cells }: Grid): Box[] {
  const part = columns * rows === 1 ? largestCell.onlyWidth : largestCell.width
  const available = {
    // On a phone, a single column is as wide as its area.
    width: Math.min(area.width / columns, area.width * (area.width > area.height ? part : 1)),
    height: Math.min(area.height / rows, area.height * largestCell.height),
  }
  const width = Math.min(available.width, available.height * cellShape.widest)
  const height = Math.min(available.height, available.width / cellShape.narrowest)
  const left = area.x + (area.width - width * columns) / 2
  const top = area.y + Math.min((area.height - height * rows) / 2, height * 0.5)
  return cells.map(({ column, row }) => ({ x: left + column * width, y: top + row * height, width, height }))
}

function shrunk({ x, y, width, height }: Box, part: number): Box {
  const gap = (Math.min(width, height) * (1 - part)) / 2
  return { x: x + gap, y: y + gap, width: width - 2 * gap, height: height - 2 * gap }
}

/** Returns the names of groups or assets, without those that have none. */
export function namesOf(items: readonly { name?: string | undefined }[] = []): string[] {
  return items.flatMap(({ name }) => name || [])
}

/** Returns the parts that all names have in common. A part ends at a separator, and something of each name is left. */
export function commonParts(names: readonly string[]): CommonParts {
  const [first = '', ...others] = names
  if (others.length === 0) return { start: 0, end: 0 }
  const shortest = Math.min(...names.map((name) => name.length))
  let start = 0
  while (start < shortest && others.every((name) => name[start] === first[start])) start++
  while (start > 0 && !isSeparator(first[start - 1])) start--
  let end = 0
  const last = (name: string) => name[name.length - 1 - end]
  while (start + end < shortest - 1 && others.every((name) => last(name) === last(first))) end++
  while (end > 0 && !isSeparator(first[first.length - end])) end--
  return { start, end }
}

function isSeparator(character: string | undefined): boolean {
  return character !== undefined && '-_'.includes(character)
}

/** Returns a name without the parts that all names inside the group have in common. */
export function distinctName(name: string, { start, end }: CommonParts): string {
  return name.slice(start, name.length - end) || name
}

/** Returns the groups that contain an item, from the outside to the inside. */
export function pathOf(item: SceneItem): Frame[] {
  const path: Frame[] = []
  for (let frame: Frame | undefined = item.parent; frame !== undefined; frame = frame.above) path.unshift(frame)
  return path
}
