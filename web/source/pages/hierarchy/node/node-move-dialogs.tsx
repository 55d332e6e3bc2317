import type { HierarchyNode } from '@millwright/api/hierarchy.ts'
import { useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { TextField } from '../../../components/forms/fields.tsx'
import { useHierarchyRefresh } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { bodyOf, type Destination, DestinationFields } from './destination-fields.tsx'
import { useMoveNode } from './move-node.ts'

type NodeMoveDialogProps = { node: HierarchyNode; onClose: () => void }

function destinationAt({ parentId }: HierarchyNode): Destination {
  return { isTop: parentId === null, parentId: parentId ?? undefined, position: '' }
}

/**
 * `MoveDialog` moves a node together with all nodes below it. It is the alternative to moving nodes with drag and drop.
 */
export function MoveDialog({ node, onClose }: NodeMoveDialogProps) {
  const text = useText(hierarchyMessages)
  const moveNode = useMoveNode()
  const [destination, setDestination] = useState(() => destinationAt(node))
  const [isSubmitted, setSubmitted] = useState(false)
  const body = bodyOf(destination)
  const move = async () => {
    setSubmitted(true)
    return body === undefined ? false : moveNode(node, body)
  }
  return (
    <ConfirmDialog title={text.moveTitle(node.name)} action={text.move} onConfirm={move} onClose={onClose}>
      <DestinationFields
        hierarchyId={node.hierarchyId}
        value={destination}
        onChange={setDestination}
        isMissing={isSubmitted && body === undefined}
      />
    </ConfirmDialog>
  )
}

type CopyDialogProps = NodeMoveDialogProps & { onCopied: (node: HierarchyNode) => void }

/** `CopyDialog` copies a node together with all nodes below it. The assigned assets are not copied. */
export function CopyDialog({ node, onClose, onCopied }: CopyDialogProps) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  const api = useApi()
  const refresh = useHierarchyRefresh()
  const [name, setName] = useState(text.copyName(node.name))
  const [destination, setDestination] = useState(() => destinationAt(node))
  const [isSubmitted, setSubmitted] = useState(false)
  const body = bodyOf(destination)
  const copy = async () => {
    setSubmitted(true)
    if (body === undefined || name.trim() === '') return false
    const { data } = await api.hierarchy.copyNode({
      params: { id: node.id },
      body: { data: { ...body, name: name.trim() } },
    })
    showSuccess(text.nodesCopied(data.copiedNodes, formats.number(data.copiedNodes)))
    onCopied(data.node)
    return refresh()
  }
  return (
    <ConfirmDialog title={text.copyTitle(node.name)} action={text.copy} onConfirm={copy} onClose={onClose}>
      <div className="form">
        <p>{text.copyText}</p>
        <TextField
          label={text.name}
          error={isSubmitted && name.trim() === '' ? text.required : undefined}
          isRequired
          maxLength={128}
          value={name}
          onChange={setName}
        />
        <DestinationFields
          hierarchyId={node.hierarchyId}
          value={destination}
          onChange={setDestination}
          isMissing={isSubmitted && body === undefined}
        />
      </div>
    </ConfirmDialog>
  )
}
