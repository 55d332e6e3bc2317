import type { HierarchyNode } from '@millwright/api/hierarchy.ts'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { maxSelected } from '../../assets/model/limits.ts'
import type { AssetSelection } from '../../assets/table/selection.ts'
import { hierarchyMessages } from '../messages.ts'
import { useAssign } from './assign.ts'
import { useCanAssign } from './can-assign.ts'
import { FailureList } from './failure-list.tsx'
import type { AssignmentOutcome } from './outcome.ts'

type SelectionBarProps = {
  selection: AssetSelection
  total: number
  /** The node whose assets the list shows. The selected assets can be removed from it. */
  node: HierarchyNode | undefined
  /** Whether the list also shows the assets of the nodes below. */
  includeBelow: boolean
  onAssign: () => void
  /** Is called after the selected assets have been removed from the node. */
  onDone: () => void
}

/** `SelectionBar` contains the actions for the selected assets. */
export function SelectionBar({ selection, total, node, includeBelow, onAssign, onDone }: SelectionBarProps) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  const canAssign = useCanAssign()
  const { unassign } = useAssign()
  const [busy, setBusy] = useState<'selection' | 'removal'>()
  const [failure, setFailure] = useState<unknown>()
  const [failures, setFailures] = useState<AssignmentOutcome['failures']>([])
  const { ids, clear, selectMatching } = selection
  const reach = Math.min(total, maxSelected)
  const run = async (kind: 'selection' | 'removal', act: () => Promise<unknown>) => {
    setBusy(kind)
    setFailure(undefined)
    await act().catch(setFailure)
    setBusy(undefined)
  }
  const remove = async (from: HierarchyNode) => {
    const outcome = await unassign(from, [...ids], { includeBelow })
    setFailures(outcome.failures)
    if (outcome.failures.length === 0) onDone()
  }
  const label = text.selected(formats.number(ids.size))
  return (
    <>
      <div className="bulk-bar" role="toolbar" aria-label={label}>
        <strong>{label}</strong>
        {ids.size < reach && (
          <IxButton variant="tertiary" loading={busy === 'selection'} onClick={() => run('selection', selectMatching)}>
            {text.selectMatching(formats.number(reach))}
          </IxButton>
        )}
        <IxButton variant="tertiary" onClick={clear}>
          {text.unselect}
        </IxButton>
        {canAssign && (
          <IxButton onClick={onAssign}>{node === undefined ? text.assignToNode : text.moveToNode}</IxButton>
        )}
        {canAssign && node !== undefined && (
          <IxButton variant="secondary" loading={busy === 'removal'} onClick={() => run('removal', () => remove(node))}>
            {text.removeFromNode}
          </IxButton>
        )}
      </div>
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {failures.length > 0 && <FailureList failures={failures} />}
    </>
  )
}
