import type { HierarchyNode } from '@millwright/api/hierarchy.ts'

/** `Dragged` is the node or the assets that the user drags. */
export type Dragged =
  | { kind: 'node'; node: HierarchyNode }
  | {
      kind: 'assets'
      ids: readonly string[]
      /** Is called after the assets have been assigned to a node. */
      onAssigned: () => void
    }

/** `DropTarget` is the node below the pointer. A dragged node is dropped into this node, or before or after it. */
export type DropTarget = { node: HierarchyNode; side: 'into' | 'before' | 'after' }

/**
 * The fraction of a row's height, at its top and at its bottom, where a node is dropped before or after the row instead
 * of into it.
 */
const edge = 0.25

/**
 * Returns where something that is dropped on a row is placed. `share` is the vertical position in the row, from 0 to 1.
 * Assets are always placed into the node.
 */
export function sideAt(kind: Dragged['kind'], share: number): DropTarget['side'] {
  if (kind === 'assets' || (share >= edge && share <= 1 - edge)) return 'into'
  return share < edge ? 'before' : 'after'
}

type Destination = { parentId: string | null; position?: number }

/**
 * Returns the destination of a moved node. The position counts the siblings without the moved node. Without a position,
 * the node becomes the last child of a new parent, or keeps its place below its parent.
 */
export function destinationOf(moved: HierarchyNode, { node, side }: DropTarget): Destination {
  if (side === 'into') return { parentId: node.id }
  const isBelowOwnPlace = moved.parentId === node.parentId && moved.position < node.position
  const position = node.position + (side === 'after' ? 1 : 0) - (isBelowOwnPlace ? 1 : 0)
  return { parentId: node.parentId, position }
}
