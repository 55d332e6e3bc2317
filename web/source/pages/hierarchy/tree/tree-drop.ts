import type { HierarchyNode } from '@millwright/api/hierarchy.ts'

/** `Dragged` is the node or the assets that the user drags. */
export type Dragged =
  | { kind: 'node'; node: HierarchyNode }
  | {
      kind: 'assets'
      ids: readonly string[]
      /** Called after the assets have been assigned to a node. */
      onAssigned: () => void
    }

/** `DropTarget` is the node below the pointer. A dragged node goes into it, or before or after it. */
export type DropTarget = { node: HierarchyNode; side: 'into' | 'before' | 'after' }

/** The share of a row at its top and bottom where a dropped node is placed before or after the row. */
const edge = 0.25

/** Returns where a drop at a height of a row goes. Assets always go into the node. */
export function sideAt(kind: Dragged['kind'], share: number): DropTarget['side'] {
  if (kind === 'assets' || (share >= edge && share <= 1 - edge)) return 'into'
  return share < edge ? 'before' : 'after'
}

type Destination = { parentId: string | null; position?: number }

/**
 * Returns the destination of a moved node. A position counts the siblings without the moved node itself. Without a
 * position, the node becomes the last child.
 */
export function destinationOf(moved: HierarchyNode, { node, side }: DropTarget): Destination {
  if (side === 'into') return { parentId: node.id }
  const isBelowOwnPlace = moved.parentId === node.parentId && moved.position < node.position
  const position = node.position + (side === 'after' ? 1 : 0) - (isBelowOwnPlace ? 1 : 0)
  return { parentId: node.parentId, position }
}
