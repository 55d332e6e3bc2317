import { type Camera, onScreen } from './camera.ts'
import type { Cluster, Frame, SceneItem } from './scene.ts'

/** The sizes in pixels from which the inside of a group is drawn, by the number of items inside it. */
const sizes = { all: 20, few: 120, some: 190, many: 260 } as const

/** Returns whether the inside of an item is drawn. A small group shows its inside only if the names of the groups inside it are readable. */
export function isInsideShown(item: SceneItem, camera: Camera, isAll: boolean): item is SceneItem & { frame: Frame } {
  if (item.frame === undefined) return false
  const { width, height } = onScreen(camera, item.box)
  const { length } = item.frame.items
  const isTree = item.frame.wires !== undefined
  const needed = isAll ? sizes.all : isTree ? sizes.few : length > 60 ? sizes.many : length > 8 ? sizes.some : sizes.few
  const isReadable = isAll || width >= sizes.many || widthInside(item.frame, camera) >= readableGroup
  return isReadable && Math.min(width, height * 1.6) >= needed
}

/** The width of a group in pixels from which a short name and a number of assets are readable. */
const readableGroup = 84

/** Returns the width of the groups inside a frame on the screen. Assets are drawn without names if they are small. */
function widthInside({ summary, items }: Frame, camera: Camera): number {
  const groups = (summary?.items ?? items).filter(({ group }) => group !== undefined)
  return Math.min(...groups.map(({ box }) => onScreen(camera, box).width))
}

/** The height of a switch in a tree in pixels from which its name is readable. */
const readableSwitch = 15

/** Returns whether a tree of switches is drawn as a summary, because its switches are too small for their names. */
export function isTreeSummarized({ summary, items: [first] }: Frame, camera: Camera): boolean {
  if (summary === undefined || first === undefined) return false
  return onScreen(camera, first.box).height < readableSwitch
}

/** The size of an asset in pixels from which its name is readable. */
const readable = { width: 62, height: 18 } as const

/** Returns whether a cluster is drawn as one card, because its assets are too small for their names. */
export function isSummarized({ items: [first] }: Cluster, camera: Camera): boolean {
  if (first === undefined) return false
  const { width, height } = onScreen(camera, first.box)
  return width < readable.width || height < readable.height
}
