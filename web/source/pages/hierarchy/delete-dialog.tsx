import { useState } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useApi } from '../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { CheckField } from '../../components/forms/fields.tsx'
import { useCanAssign } from './assignment/can-assign.ts'
import { type DeletionCounts, deletionCounts } from './deletion.ts'
import { useHierarchyRefresh } from './hierarchy-data.ts'
import { hierarchyMessages } from './messages.ts'

type DeleteDialogProps = {
  kind: 'hierarchy' | 'node'
  id: string
  name: string
  onClose: () => void
  onDeleted: () => void
}

/**
 * `DeleteDialog` deletes a hierarchy or a node. If the hierarchy or node is not empty, the server rejects the first
 * attempt. The dialog then shows how many nodes and assets are affected, and asks again.
 */
export function DeleteDialog({ kind, id, name, onClose, onDeleted }: DeleteDialogProps) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  const api = useApi()
  const refresh = useHierarchyRefresh()
  const canAssign = useCanAssign()
  const [counts, setCounts] = useState<DeletionCounts>()
  const [hasCleanup, setCleanup] = useState(true)
  const remove = async () => {
    const input = { params: { id }, query: { recursive: counts !== undefined } }
    const answer = kind === 'node' ? await api.hierarchy.deleteNode(input) : await api.hierarchy.deleteHierarchy(input)
    let remaining = answer.data.remainingRelations
    while (remaining > 0 && hasCleanup && canAssign) {
      const { data } = await api.hierarchy.cleanupNode({ params: { id } })
      remaining = data.remainingRelations
      // The cleanup ends, because the user has no permission to delete the remaining relations.
      if (data.deletedRelations === 0) break
    }
    const deleted = kind === 'node' ? text.nodeDeleted(name) : text.hierarchyDeleted(name)
    showSuccess(remaining === 0 ? deleted : `${deleted} ${text.assignmentsRemain(formats.number(remaining))}`)
    onDeleted()
    await refresh()
  }
  const confirm = async () => {
    try {
      await remove()
      return true
    } catch (error) {
      const found = deletionCounts(error)
      if (found === undefined) throw error
      setCounts(found)
      return false
    }
  }
  return (
    <ConfirmDialog
      title={kind === 'node' ? text.deleteNodeTitle(name) : text.deleteHierarchyTitle(name)}
      action={counts === undefined ? text.delete : text.deleteAll}
      isDangerous
      onConfirm={confirm}
      onClose={onClose}
    >
      {counts === undefined ? (
        <p>{kind === 'node' ? text.deleteNodeText : text.deleteHierarchyText}</p>
      ) : (
        <div className="form" role="status">
          <p>
            {text.notEmpty(
              text.nodeCount(counts.nodes, formats.number(counts.nodes)),
              text.assignedCount(counts.assets, formats.number(counts.assets)),
            )}
          </p>
          {counts.assets > 0 && canAssign ? (
            <CheckField label={text.cleanUp} isChecked={hasCleanup} onChange={setCleanup} />
          ) : (
            counts.assets > 0 && <p>{text.assignmentsStay}</p>
          )}
        </div>
      )}
    </ConfirmDialog>
  )
}
