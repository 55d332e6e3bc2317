import type { HierarchyNode } from '@millwright/api/hierarchy.ts'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { useHierarchies, useLastHierarchy } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { NodeBrowser } from '../tree/node-browser.tsx'
import { useAssign } from './assign.ts'
import { FailureList } from './failure-list.tsx'
import type { AssignmentOutcome } from './outcome.ts'
import '../hierarchy.css'

/** `AssignmentSubject` contains the assets to assign: selected assets, or all assets that match a filter. */
export type AssignmentSubject = { ids: readonly string[] } | { filter: string; count: number }

type AssignDialogProps = {
  subject: AssignmentSubject
  /** The hierarchy to which the assets are assigned. Without it, the user selects a hierarchy. */
  hierarchyId?: string
  /** Whether all assets have a node already. */
  isMove?: boolean
  onClose: () => void
  onDone?: () => void
}

/** `AssignDialog` assigns assets to a node. It is the alternative to assigning assets with drag and drop. */
export function AssignDialog({ hierarchyId, ...props }: AssignDialogProps) {
  const text = useText(hierarchyMessages)
  const hierarchies = useHierarchies()
  const [chosen, setChosen] = useState(hierarchyId)
  const [last] = useLastHierarchy()
  if (hierarchyId !== undefined) return <NodeStep {...props} hierarchyId={hierarchyId} />
  if (hierarchies.data === undefined || hierarchies.data.length === 0) {
    return (
      <Dialog title={text.assignTitleShort} onClose={props.onClose}>
        <QueryState query={hierarchies}>
          {() => (
            <p>
              {text.noHierarchyTitle}. <Link to="/hierarchy">{text.goToHierarchies}</Link>
            </p>
          )}
        </QueryState>
      </Dialog>
    )
  }
  const current = chosen ?? (hierarchies.data.find(({ id }) => id === last) ?? hierarchies.data[0])?.id ?? ''
  return (
    <NodeStep {...props} hierarchyId={current}>
      <SelectField
        label={text.hierarchy}
        value={current}
        onChange={setChosen}
        choices={hierarchies.data.map(({ id, name }) => ({ value: id, label: name }))}
      />
    </NodeStep>
  )
}

type NodeStepProps = Omit<AssignDialogProps, 'hierarchyId'> & { hierarchyId: string; children?: React.ReactNode }

function NodeStep({ subject, hierarchyId, isMove = false, onClose, onDone, children }: NodeStepProps) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  const { assign, assignMatching } = useAssign()
  const [node, setNode] = useState<HierarchyNode>()
  const [isSubmitted, setSubmitted] = useState(false)
  const [outcome, setOutcome] = useState<AssignmentOutcome>()
  const count = 'ids' in subject ? subject.ids.length : subject.count
  const chosen = node?.hierarchyId === hierarchyId ? node : undefined
  const confirm = async () => {
    setSubmitted(true)
    if (chosen === undefined) return false
    if ('filter' in subject) {
      await assignMatching(chosen, subject.filter)
      onDone?.()
      return true
    }
    const result = await assign(chosen, subject.ids)
    onDone?.()
    setOutcome(result)
    return result.failures.length === 0
  }
  return (
    <ConfirmDialog
      title={(isMove ? text.moveAssetsTitle : text.assignTitle)(count, formats.number(count))}
      action={isMove ? text.move : text.assign}
      isDone={outcome !== undefined}
      onConfirm={confirm}
      onClose={onClose}
    >
      {outcome === undefined ? (
        <div className="form">
          {!isMove && <p>{text.assignText}</p>}
          {children}
          <div className="node-choice">
            <NodeBrowser
              key={hierarchyId}
              hierarchyId={hierarchyId}
              selected={chosen?.id}
              onSelect={setNode}
              empty={<p className="tree-note">{text.noNodes}</p>}
            />
          </div>
          {isSubmitted && chosen === undefined && <p className="field-error">{text.chooseNode}</p>}
        </div>
      ) : (
        <FailureList failures={outcome.failures} />
      )}
    </ConfirmDialog>
  )
}
