import type { HierarchyNode } from '@millwright/api/hierarchy.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { announce } from '../../../components/feedback/announcement.ts'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { showUndo } from '../../../components/feedback/undo-toast.tsx'
import { useHierarchyRefresh } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'

type NewPlace = { parentId?: string | null; position?: number }

/** Returns a function that moves a node, and shows the new place with an undo button. */
export function useMoveNode() {
  const text = useText(hierarchyMessages)
  const api = useApi()
  const refresh = useHierarchyRefresh()
  const send = async (id: string, data: NewPlace) =>
    (await api.hierarchy.moveNode({ params: { id }, body: { data } })).data
  const undo = async ({ id, name, parentId, position }: HierarchyNode) => {
    await send(id, { parentId, position })
    showSuccess(text.moveUndone(name))
    await refresh()
  }
  const messageOf = async ({ name, parentId, position }: HierarchyNode, before: HierarchyNode) => {
    if (parentId === before.parentId) return text.nodeAt(name, position + 1)
    if (parentId === null) return text.nodeMovedToTop(name)
    return text.nodeMoved(name, (await api.hierarchy.readNode({ params: { id: parentId } })).data.name)
  }
  return async (node: HierarchyNode, place: NewPlace) => {
    const moved = await send(node.id, place)
    await refresh()
    if (moved.parentId === node.parentId && moved.position === node.position) {
      announce(text.nodeNotMoved(node.name))
      return
    }
    showUndo(await messageOf(moved, node), text.undo, () =>
      undo(node).catch((error: Error) => showError(text.moveUndoFailed(error.message))),
    )
  }
}
