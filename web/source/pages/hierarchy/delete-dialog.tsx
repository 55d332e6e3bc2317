import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Output } from '../../app/api/client.ts'
import { isFailure } from '../../app/api/failure.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useApi } from '../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { closeUndo } from '../../components/feedback/undo-toast.tsx'
import { CheckField } from '../../components/forms/fields.tsx'
import { useCanAssign } from './assignment/can-assign.ts'
import { useHierarchyRefresh } from './hierarchy-data.ts'
import { hierarchyMessages } from './messages.ts'

type DeletionKind = 'hierarchy' | 'node'

type DeleteDialogProps = {
  kind: DeletionKind
  id: string
  name: string
  onClose: () => void
  onDeleted: () => void
}

/**
 * `DeleteDialog` deletes a hierarchy or a node. A dry run counts the nodes, assets and rules that the deletion affects
 * before the user confirms it.
 */
export function DeleteDialog({ kind, id, name, onClose, onDeleted }: DeleteDialogProps) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  const api = useApi()
  const refresh = useHierarchyRefresh()
  const canAssign = useCanAssign()
  const [hasCleanup, setCleanup] = useState(true)
  const send = async (query: { dryRun?: boolean; recursive?: boolean }) => {
    const input = { params: { id }, query }
    return (kind === 'node' ? await api.hierarchy.deleteNode(input) : await api.hierarchy.deleteHierarchy(input)).data
  }
  // The key does not start with `hierarchy`, so that the refresh after the deletion does not count again.
  const counts = useQuery({ queryKey: ['deletion', kind, id], queryFn: () => send({ dryRun: true }), gcTime: 0 })
  const remove = async (recursive: boolean) => {
    let { remainingRelations: remaining } = await send({ recursive })
    while (remaining > 0 && hasCleanup && canAssign) {
      const { data } = await api.hierarchy.cleanupNode({ params: { id } })
      remaining = data.remainingRelations
      // The cleanup ends, because the user has no permission to delete the remaining relations.
      if (data.deletedRelations === 0) break
    }
    const deleted = kind === 'node' ? text.nodeDeleted(name) : text.hierarchyDeleted(name)
    closeUndo()
    showSuccess(
      remaining === 0 ? deleted : `${deleted} ${text.assignmentsRemain(remaining, formats.number(remaining))}`,
    )
    onDeleted()
    await refresh()
  }
  const confirm = async () => {
    if (counts.data === undefined) return false
    const { deletedNodes, assignedAssets, remainingRelations } = counts.data
    const isEmpty = deletedNodes === (kind === 'node' ? 1 : 0) && assignedAssets + remainingRelations === 0
    try {
      await remove(!isEmpty)
      return true
    } catch (error) {
      // Nodes or assets were added after the count. The user confirms the new numbers.
      if (!isFailure(error, 'hierarchy_not_empty')) throw error
      await counts.refetch()
      return false
    }
  }
  return (
    <ConfirmDialog
      title={kind === 'node' ? text.deleteNodeTitle(name) : text.deleteHierarchyTitle(name)}
      action={text.delete}
      isDangerous
      isDisabled={counts.data === undefined}
      onConfirm={confirm}
      onClose={onClose}
    >
      <QueryState query={counts}>
        {(found) => (
          <div className="form" role="status">
            <Contents kind={kind} counts={found} />
            <p>{text.notUndoable}</p>
            {found.assignedAssets > 0 && canAssign && (
              <CheckField label={text.cleanUp} hint={text.cleanUpHint} isChecked={hasCleanup} onChange={setCleanup} />
            )}
            {found.assignedAssets > 0 && !canAssign && <p>{text.assignmentsStay}</p>}
          </div>
        )}
      </QueryState>
    </ConfirmDialog>
  )
}

type ContentsProps = { kind: DeletionKind; counts: Output<'hierarchy', 'deleteNode'>['data'] }

/** `Contents` shows how many nodes, assigned assets and rules a hierarchy or a node contains. */
function Contents({ kind, counts: { deletedNodes, assignedAssets, deletedRules } }: ContentsProps) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  const below = kind === 'node' ? deletedNodes - 1 : deletedNodes
  const parts = [
    kind === 'node' ? text.nodesBelowCount(below, formats.number(below)) : text.nodeCount(below, formats.number(below)),
    text.assignedCount(assignedAssets, formats.number(assignedAssets)),
    text.ruleCount(deletedRules, formats.number(deletedRules)),
  ]
  return <p>{text.contents(parts.join(', '))}</p>
}
